package readme_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// blocks returns the fenced blocks of the README in a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	var found []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		found = append(found, m[1])
	}
	require.NotEmpty(t, found)
	return found
}

// plain drops what the README may lay out differently: indentation, blank lines.
func plain(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// Every snippet is in a Go file that compiles, line by line.
func TestReadme_everySnippetCompiles(t *testing.T) {
	var sources []string
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		source, err := os.ReadFile(path)
		sources = append(sources, plain(string(source)))
		return err
	}))
	for _, snippet := range blocks(t, "go") {
		want := plain(snippet)
		found := false
		for _, source := range sources {
			found = found || strings.Contains(source, want)
		}
		require.True(t, found, "in no Go file:\n%s", snippet)
	}
}

// Every changed line of a diff is in the diffs that the example's test applies.
func TestReadme_theDiffsAreReal(t *testing.T) {
	real := map[string]bool{}
	files, err := filepath.Glob("../../examples/wrap/testdata/*.diff")
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			real[strings.TrimRight(line, "\r\n")] = true
		}
	}
	for _, diff := range blocks(t, "diff") {
		for line := range strings.Lines(diff) {
			if line = strings.TrimRight(line, "\r\n"); strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") {
				require.True(t, real[line], "in no diff: %q", line)
			}
		}
	}
}

// Every path that the README names is there.
func TestReadme_pathsExist(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	paths := regexp.MustCompile("`((?:limiter|retry|spawn|fleet|internal|examples|testdata)/[\\w./-]*\\w)`").FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, paths)
	for _, m := range paths {
		_, err := os.Stat(filepath.Join("../..", m[1]))
		require.NoError(t, err, "the README names %s", m[1])
	}
}
