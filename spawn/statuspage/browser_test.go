package statuspage

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

// A browser is headless Chromium.
type browser struct {
	path string
	t    *testing.T
}

// newBrowser skips the test where there is none, but for CI.
func newBrowser(t *testing.T) browser {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return browser{path, t}
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no Chromium: CI has to install it, since the page must be seen in a browser")
	}
	t.Skip("no Chromium is installed: the page is not looked at in a browser")
	return browser{}
}

// open loads the URL, lets so much of the browser's own time pass, and returns
// what is on its standard output. Its log must not tell of anything that the
// page's policy has blocked, nor of an error of the script.
func (b browser) open(url string, passes time.Duration, flags ...string) string {
	b.t.Helper()
	// Of real time it needs about a second; CI's machines have little.
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer cancel()
	flags = append(flags, "--enable-logging=stderr", "--virtual-time-budget="+strconv.FormatInt(passes.Milliseconds(), 10), url)
	cmd := b.command(ctx, flags...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	require.NoError(b.t, cmd.Run(), "%s", &log)
	require.NotContains(b.t, log.String(), "Content Security Policy")
	require.NotContains(b.t, log.String(), "Uncaught")
	return out.String()
}

func (b browser) command(ctx context.Context, flags ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.path, append([]string{
		"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", // nobody else is asked for anything
		"--user-data-dir=" + b.t.TempDir(),
	}, flags...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it ends its children
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func (b browser) dom(url string, passes time.Duration, flags ...string) string {
	b.t.Helper()
	return b.open(url, passes, append(flags, "--dump-dom")...)
}

// While the page is open the limiter is refused: the page tells it by itself.
func TestBrowserFollows(t *testing.T) {
	b := newBrowser(t)
	page, err := New(Config{})
	require.NoError(t, err)
	l, err := limiter.New(limiter.Config{Name: "openai <b>", OnEvent: page.OnLimiterEvent})
	require.NoError(t, err)
	page.WatchLimiter(l)
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 2 { // the first that the script makes
			l.ReportRateLimited(10 * time.Minute)
		}
		page.ServeHTTP(w, r)
	}))
	defer server.Close()

	dom := b.dom(server.URL, 9*time.Second)
	require.Greater(t, requests.Load(), int32(2), "it asks again and again")
	require.Contains(t, dom, "Rate limited")
	require.Contains(t, dom, "openai &lt;b&gt; is blocked</p>")
	require.Regexp(t, `<title>(10:00|9:\d\d) openai &lt;b&gt; is blocked – holdoff</title>`, dom, "the countdown leads the title")
	require.Regexp(t, `<b data-until="[^"]+" data-over="now">(10:00|9:\d\d)</b>`, dom)
	require.Regexp(t, `<p id="fresh">as of \d\d:\d\d:\d\d UTC</p>`, dom)
}

// A browser that runs no script shows all the same who is blocked, and why.
func TestBrowserWithoutScriptShows(t *testing.T) {
	b := newBrowser(t)
	page, err := New(Config{})
	require.NoError(t, err)
	l, err := limiter.New(limiter.Config{Name: "openai"})
	require.NoError(t, err)
	l.Hold("a look at the bill")
	page.WatchLimiter(l)
	spawner, err := spawn.New(spawn.Config{Limiter: l})
	require.NoError(t, err)
	page.WatchSpawner("agents", spawner)
	h := spawner.Start(t.Context(), spawn.Worker{ID: "reviewer", Run: func(context.Context, *spawn.Attempt) error { return nil }})
	defer func() {
		h.Cancel(nil)
		<-h.Done()
	}()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Content-Security-Policy", "script-src 'none'")
		got := get(t, page, "/")
		_, _ = io.WriteString(w, got.body)
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// Chromium prints no page whose scripts its own settings forbid.
	dom, err := b.command(ctx, "--virtual-time-budget=1000", "--dump-dom", server.URL).Output()
	require.NoError(t, err)
	require.Contains(t, string(dom), `as of <time datetime=`, "the script has not run")
	require.Contains(t, string(dom), "openai is blocked</p>")
	require.Contains(t, string(dom), "An operator holds the gate, for “a look at the bill”")
	require.Regexp(t, `(?s)<table.*<th[^>]*>reviewer</th>.*queued.*</table>`, string(dom))
}

// Without its script the page is loaded anew by itself.
func TestBrowserWithoutScript(t *testing.T) {
	b := newBrowser(t)
	page, err := New(Config{})
	require.NoError(t, err)
	l, err := limiter.New(limiter.Config{Name: "openai"})
	require.NoError(t, err)
	l.Hold("a look at the bill")
	page.WatchLimiter(l)
	requests := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- struct{}{}
		got := get(t, page, "/")
		// Sooner than in earnest, so that the test is.
		_, _ = io.WriteString(w, strings.Replace(got.body, `content="5"`, `content="1"`, 1))
	}))
	defer server.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := b.command(ctx, "--blink-settings=scriptEnabled=false", "--remote-debugging-port=0", server.URL)
	require.NoError(t, cmd.Start())
	for range 3 {
		select {
		case <-requests:
		case <-ctx.Done():
			t.Error("the page was not loaded anew")
		}
	}
	cancel()
	_ = cmd.Wait() // it was interrupted
}

// The scenes as they are seen. With the variable
// STATUSPAGE_SCREENSHOTS the pictures are left in that folder, for a person.
func TestBrowserShows(t *testing.T) {
	b := newBrowser(t)
	for name, play := range scenes {
		dir := os.Getenv("STATUSPAGE_SCREENSHOTS")
		if dir == "" && name != "storm" {
			continue // one says it all
		}
		t.Run(name, func(t *testing.T) {
			b := browser{b.path, t}
			var body []byte
			var policy string
			inScene(t, func(t *testing.T, s *scene) {
				play(s)
				got := s.get("/")
				body, policy = []byte(got.body), got.Header().Get("Content-Security-Policy")
			})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Security-Policy", policy)
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, _ = w.Write(body)
			}))
			defer server.Close()

			dom := b.dom(server.URL, time.Second)
			require.Regexp(t, `<td data-label="attempt">1</td>`, dom)
			require.Regexp(t, `as of 00:\d\d:\d\d UTC`, dom, "the server's time, whatever the browser's clock says")

			for look, flags := range map[string][]string{
				"wide":       {"--window-size=1180,1000"},
				"wide-dark":  {"--window-size=1180,1000", "--blink-settings=preferredColorScheme=0"},
				"phone":      {"--window-size=500,1400"},
				"phone-dark": {"--window-size=500,1400", "--blink-settings=preferredColorScheme=0"},
			} {
				if dir == "" {
					continue
				}
				file := filepath.Join(dir, name+"-"+look+".png")
				b.open(server.URL, time.Second, append(flags, "--screenshot="+file)...)
				require.FileExists(t, file)
			}
		})
	}
}
