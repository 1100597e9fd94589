package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEnd_TellsTheErrorOnceAndReturnsTheStatus(t *testing.T) {
	for name, tt := range map[string]struct {
		err    error
		status int
		told   string
	}{
		"success": {nil, 0, ""},
		"help":    {flag.ErrHelp, 0, ""},
		"usage":   {fmt.Errorf("%w", Usagef("-n is %d", 0)), 2, "prog: -n is 0; see -h\n"},
		"failure": {errors.New("no such luck"), 1, "prog: no such luck\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr strings.Builder
			require.Equal(t, tt.status, end("prog", tt.err, &stderr))
			require.Equal(t, tt.told, stderr.String())
		})
	}
}

// flags are some of each kind.
func flags() *flag.FlagSet {
	fs := Flags("prog", "It does this and that.")
	fs.Int("n", 1, "how many")
	fs.Uint64("seed", 1, "seed")
	fs.Float64("scale", 1, "how fast")
	fs.Duration("storm", time.Second, "how long")
	fs.Bool("json", false, "as JSON")
	fs.Func("own", "a kind of its own", func(string) error { return errors.New("want red or green") })
	return fs
}

func TestParse_SaysWhatItWants(t *testing.T) {
	for want, args := range map[string][]string{
		`unexpected argument "x"`:                                              {"x"},
		`flag provided but not defined: -nothing`:                              {"-nothing"},
		`flag needs an argument: -n`:                                           {"-n"},
		`bad flag syntax: -=`:                                                  {"-="},
		`invalid value "abc" for flag -n: want a whole number`:                 {"-n", "abc"},
		`invalid value "a -b" for flag -n: want a whole number`:                {"-n", "a -b"},
		`invalid value "99999999999999999999" for flag -n: value out of range`: {"-n", "99999999999999999999"},
		`invalid value "-1" for flag -seed: want a whole number`:               {"-seed", "-1"},
		`invalid value "abc" for flag -scale: want a number`:                   {"-scale", "abc"},
		`invalid value "20" for flag -storm: want a time such as 20s`:          {"-storm", "20"},
		`invalid boolean value "maybe" for -json: want true or false`:          {"-json=maybe"},
		`invalid value "blue" for flag -own: want red or green`:                {"-own", "blue"},
	} {
		t.Run(want, func(t *testing.T) {
			var out strings.Builder
			_, err := Parse(flags(), args, &out)
			require.EqualError(t, err, want+"; see -h")
			require.ErrorAs(t, err, new(usageError))
			require.Empty(t, out.String())
		})
	}
}

func TestParse_ReturnsWhatIsGiven(t *testing.T) {
	given, err := Parse(flags(), []string{"-n", "1", "-json"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"n": true, "json": true}, given)
}

func TestParse_Help(t *testing.T) {
	var help strings.Builder
	_, err := Parse(flags(), []string{"-h"}, &help)
	require.ErrorIs(t, err, flag.ErrHelp)
	require.Equal(t, 1, strings.Count(help.String(), "Usage: prog [flags]\n\nIt does this and that.\n\n  -json\n"))
	require.Equal(t, 1, strings.Count(help.String(), "how many (default 1)"))
}

func TestChecks(t *testing.T) {
	for _, address := range []string{"127.0.0.1:8089", ":8089", "[::1]:0", "localhost:http"} {
		require.NoError(t, CheckAddress("listen", address))
	}
	require.EqualError(t, CheckAddress("listen", "8089"), `-listen is "8089": it must be a host and a port, such as 127.0.0.1:8089; see -h`)
	require.NoError(t, CheckScale(1))
	require.NoError(t, CheckScale(1000))
	require.EqualError(t, CheckScale(0.5), "-scale is 0.5: it must be 1 to 1000; see -h")
}

func TestClip(t *testing.T) {
	require.Equal(t, "short", Clip("short"))
	require.Equal(t, strings.Repeat("●", Width), Clip(strings.Repeat("●", Width)))
	require.Equal(t, strings.Repeat("●", Width-1)+"…", Clip(strings.Repeat("●", Width+1)))
}

func TestWrap(t *testing.T) {
	long := strings.Repeat("x", Width+1)
	for text, want := range map[string]string{
		"":                                "",
		"as  it is\n\n  in lines\n":       "as  it is\n\n  in lines\n",
		strings.Repeat("word ", 16):       strings.TrimSpace(strings.Repeat("word ", 15)) + "\nword",
		"see " + long + " at once":        "see\n" + long + "\nat once",
		strings.Repeat("●", Width) + " ●": strings.Repeat("●", Width) + "\n●",
	} {
		require.Equal(t, want, Wrap(text))
	}
}

func TestRedraws_OnlyOnATerminal(t *testing.T) {
	require.False(t, Redraws(io.Discard, 1))
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer f.Close()
	require.False(t, Redraws(f, 1))
}
