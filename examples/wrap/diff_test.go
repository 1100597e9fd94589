package wrap_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The diffs the README shows are the real ones: each turns the host as it was
// into the variant, and changes at most ten lines.
func TestDiff_atMostTenChangedLines(t *testing.T) {
	for _, name := range []string{"hooks", "viaspawn"} {
		t.Run(name, func(t *testing.T) {
			diff := lines(t, "testdata/"+name+".diff")
			require.Equal(t, "--- before/desk.go", diff[0])
			require.Equal(t, "+++ "+name+"/desk.go", diff[1])

			got, changed := apply(t, lines(t, "before/desk.go"), diff[2:])
			require.Equal(t, lines(t, name+"/desk.go"), got,
				"renew it: diff -u --label before/desk.go --label %[1]s/desk.go before/desk.go %[1]s/desk.go", name)
			require.LessOrEqual(t, changed, 10)
		})
	}
}

// The variants differ in that file alone.
func TestDiff_nothingElseDiffers(t *testing.T) {
	for _, name := range []string{"before", "hooks", "viaspawn"} {
		files, err := os.ReadDir(name)
		require.NoError(t, err)
		var names []string
		for _, f := range files {
			names = append(names, f.Name())
		}
		require.Equal(t, []string{"desk.go", "doc.go"}, names)
		for _, line := range lines(t, name+"/doc.go") {
			require.True(t, strings.HasPrefix(line, "//") || line == "package desk", line)
		}
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n"), "\n")
}

// apply applies the hunks of a unified diff to from, and counts changed lines: a
// line that was replaced counts once.
func apply(t *testing.T, from, hunks []string) (to []string, changed int) {
	t.Helper()
	added, removed := 0, 0
	settle := func() {
		changed += max(added, removed)
		added, removed = 0, 0
	}
	for _, line := range hunks {
		switch {
		case strings.HasPrefix(line, "@@"):
			settle()
		case strings.HasPrefix(line, "+"):
			added++
			to = append(to, line[1:])
		default: // removed or context: it must be there, after what the hunks skip
			if line == "" {
				line = " "
			}
			for len(from) > 0 && added+removed == 0 && from[0] != line[1:] {
				to, from = append(to, from[0]), from[1:]
			}
			require.NotEmpty(t, from, "not found: %s", line)
			require.Equal(t, from[0], line[1:])
			if line[0] == '-' {
				removed++
			} else {
				settle()
				to = append(to, from[0])
			}
			from = from[1:]
		}
	}
	settle()
	return append(to, from...), changed
}
