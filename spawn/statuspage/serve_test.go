package statuspage

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type recorded struct {
	*httptest.ResponseRecorder
	body string
}

func get(t *testing.T, h http.Handler, target string, header ...string) *recorded {
	return request(t, h, http.MethodGet, target, header...)
}

func request(t *testing.T, h http.Handler, method, target string, header ...string) *recorded {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return &recorded{w, w.Body.String()}
}

func TestJSON(t *testing.T) {
	for name, play := range scenes {
		t.Run(name, func(t *testing.T) {
			inScene(t, func(t *testing.T, s *scene) {
				play(s)
				got := s.get("/?format=json")
				require.Equal(t, http.StatusOK, got.Code)
				require.Equal(t, "application/json", got.Header().Get("Content-Type"))
				require.NotContains(t, got.body, "rate_limit_exceeded", "no body of an answer")
				golden := filepath.Join("testdata", name+".json")
				if *update {
					require.NoError(t, os.WriteFile(golden, []byte(got.body), 0o644))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				require.Equal(t, string(want), got.body)
			})
		})
	}
}

func TestFormats(t *testing.T) {
	page, err := New(Config{})
	require.NoError(t, err)
	for _, c := range []struct {
		target, accept, want string
	}{
		{"/", "", "text/html; charset=utf-8"},
		{"/", "*/*", "text/html; charset=utf-8"},
		{"/", "text/html,application/xhtml+xml,application/json;q=0.9", "text/html; charset=utf-8"},
		{"/", "application/json", "application/json"},
		{"/?format=json", "text/html", "application/json"},
		{"/?format=html", "application/json", "text/html; charset=utf-8"},
	} {
		got := get(t, page, c.target, "Accept", c.accept)
		require.Equal(t, c.want, got.Header().Get("Content-Type"), "%+v", c)
		require.Equal(t, "Accept", got.Header().Get("Vary"))
	}
}

func TestEmptyPage(t *testing.T) {
	page, err := New(Config{Title: "tower <1>"})
	require.NoError(t, err)
	got := get(t, page, "/")
	require.Equal(t, http.StatusOK, got.Code)
	require.Contains(t, got.body, "<h1>tower &lt;1&gt;</h1>")
	require.Contains(t, got.body, "nothing is blocked")
	var j map[string]any
	require.NoError(t, json.Unmarshal([]byte(get(t, page, "/?format=json").body), &j))
	require.Equal(t, []any{}, j["limiters"])
	require.Equal(t, []any{}, j["spawners"])
}

func TestOnlyReads(t *testing.T) {
	page, err := New(Config{})
	require.NoError(t, err)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, "BREW"} {
		got := request(t, page, method, "/")
		require.Equal(t, http.StatusMethodNotAllowed, got.Code, method)
		require.Equal(t, "GET, HEAD", got.Header().Get("Allow"))
	}
	full, head := get(t, page, "/"), request(t, page, http.MethodHead, "/")
	require.Equal(t, http.StatusOK, head.Code)
	require.Empty(t, head.body)
	require.NotEmpty(t, head.Header().Get("Content-Length"))
	require.Equal(t, full.Header().Get("Content-Type"), head.Header().Get("Content-Type"))
}

func TestHeaders(t *testing.T) {
	page, err := New(Config{})
	require.NoError(t, err)
	got := get(t, page, "/")
	h := got.Header()
	require.Equal(t, "no-store", h.Get("Cache-Control"))
	require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
	require.Equal(t, "no-referrer", h.Get("Referrer-Policy"))

	csp := h.Get("Content-Security-Policy")
	require.Contains(t, csp, "default-src 'none'")
	require.NotContains(t, csp, "unsafe")
	// The hashes are those of what the page has between its tags.
	for _, tag := range []string{"style", "script"} {
		found := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+tag+`>`).FindAllStringSubmatch(got.body, -1)
		require.Len(t, found, 1)
		sum := sha256.Sum256([]byte(found[0][1]))
		require.Contains(t, csp, fmt.Sprintf("%s-src 'sha256-%s'", tag, base64.StdEncoding.EncodeToString(sum[:])))
	}
	require.NotRegexp(t, `(?i)\s(on[a-z]+|style)=`, got.body, "the policy would block it")
	require.NotRegexp(t, `(?i)(src|href)="(https?:)?//`, got.body, "no external assets")
}

func TestETag(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		scenes["paused"](s)
		first := s.get("/")
		tag := first.Header().Get("ETag")
		require.NotEmpty(t, tag)

		s.pass(time.Second) // nothing but the countdown has changed
		again := s.get("/", "If-None-Match", tag)
		require.Equal(t, http.StatusNotModified, again.Code)
		require.Empty(t, again.body)
		require.Equal(t, http.StatusOK, s.get("/?format=json", "If-None-Match", tag).Code, "another representation")
		require.Equal(t, http.StatusNotModified, s.get("/", "If-None-Match", `"x", `+tag).Code)

		s.limiter.Hold("looking into it")
		changed := s.get("/", "If-None-Match", tag)
		require.Equal(t, http.StatusOK, changed.Code)
		require.Contains(t, changed.body, "looking into it")

		tag = changed.Header().Get("ETag")
		s.pass(time.Minute)
		require.Equal(t, http.StatusOK, s.get("/", "If-None-Match", tag).Code, "the chart goes on")
	})
}

func TestPage(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		scenes["storm"](s)
		body := s.get("/").body
		st := s.limiter.Status()
		require.False(t, st.BlockedUntil.IsZero())
		require.Contains(t, body, `<p id="headline" role="status" class="alarm">openai is blocked</p>`)
		require.Contains(t, body, `<b data-until="`+st.BlockedUntil.UTC().Format(time.RFC3339Nano)+`" data-over="now">`)
		require.Contains(t, body, "Rate limited")
		require.Contains(t, body, `<meta http-equiv="refresh" content="5">`)
		require.Contains(t, body, `<rect class="pause"`)
		require.Contains(t, body, `role="img" aria-label="Budget over the last `)
		require.Equal(t, 20, strings.Count(body, `<th scope="row">`))
		require.Contains(t, body, `<b>fatal</b> the prompt has 212,340 tokens, the model takes 200,000: fatal`)
		require.Contains(t, body, "POST &#34;https://api.example/v1/chat/completions&#34;: 429 Too Many Requests</td>")
	})
}

func TestReadingChangesNothing(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		scenes["storm"](s)
		before, roster := s.limiter.Status(), s.spawner.Roster()
		first := s.get("/").body
		for range 100 {
			require.Equal(t, first, s.get("/").body)
		}
		require.Equal(t, before, s.limiter.Status())
		require.Equal(t, roster, s.spawner.Roster())
	})
}

// Whatever reaches the page from outside stays text.
func TestEscaping(t *testing.T) {
	attacks := []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'; alert(1); '`, `</title><script>alert(1)</script>`,
		`</script><script>alert(1)</script>`, "\u202e<b>evil</b>", "{{.Title}}", `javascript:alert(1)`, "\x00\xff<svg onload=alert(1)>",
	}
	inScene(t, func(t *testing.T, s *scene) {
		for _, attack := range attacks {
			s.start(attack, answer{err: errors.New(attack)})
			evil, err := limiter.New(limiter.Config{Name: attack})
			require.NoError(t, err)
			evil.Hold(attack)
			s.page.WatchLimiter(evil)
			s.page.WatchSpawner(attack, s.spawner)
		}
		s.page.title = attacks[3]
		s.page.cause = error.Error // as a host may have it
		s.pass(time.Second)
		body := s.get("/").body
		require.Equal(t, 1, strings.Count(body, "<script"), "the page's own")
		for _, bad := range []string{"<img", "<svg onload", "<b>evil", "alert(1)</script>", "\u202e", "\x00", "\xff"} {
			require.NotContains(t, body, bad)
		}
		require.Contains(t, body, "&lt;script&gt;alert(1)&lt;/script&gt;")
		require.NotRegexp(t, `<[^>]*\son[a-z]+=`, body)

		text := s.get("/?format=json").body
		require.True(t, json.Valid([]byte(text)))
		require.NotContains(t, text, "<", "safe even where somebody sniffs")
	})
}

// A gate whose limiters cannot be made lets nobody in, and the page says so.
func TestGateWithoutLimiters(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		g, err := limiter.NewGroup(limiter.GroupConfig{Config: func(limiter.Key) limiter.Config { panic("no such tenant") }})
		require.NoError(t, err)
		gate := g.Of(limiter.Key{Scope: "model", Name: "flash"})
		s.page.WatchLimiters(func() []limiter.Status { return []limiter.Status{gate.Status()} })
		body := s.get("/").body
		require.Contains(t, body, "model:flash is blocked")
		require.Contains(t, body, "Misconfigured")
	})
}

func TestTooManyToShow(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		limiters := make([]limiter.Status, 150)
		for i := range limiters {
			limiters[i].Name = fmt.Sprint("key-", i)
		}
		limiters[149].Reason = limiter.ReasonRateLimited
		limiters[149].BlockedUntil = time.Now().Add(time.Minute)
		s.page.WatchLimiters(func() []limiter.Status { return limiters })
		for i := range maxWorkers + 30 {
			s.start(fmt.Sprint("w", i), long)
		}
		got := s.page.snapshot()
		require.Len(t, got.Limiters, maxLimiters)
		require.Equal(t, 51, got.OmittedLimiters)
		require.Equal(t, "key-149", got.Limiters[maxLimiters-1].Status.Name, "what is blocked is shown")
		require.Len(t, got.Spawners[0].Workers, maxWorkers)
		require.Equal(t, 30, got.Spawners[0].Omitted)
		require.Equal(t, map[string]int{"running": 16, "queued": maxWorkers + 14}, got.Spawners[0].Counts, "all of them")
		body := s.get("/").body
		require.Contains(t, body, "and 51 more limiters")
		require.Contains(t, body, "and 30 more workers")
	})
}

func TestOrder(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		s.start("first to end", answer{after: time.Second})
		s.start("last to end", answer{after: 2 * time.Second})
		s.start("failed", answer{err: errors.New("of its own")})
		s.start("alive", long)
		s.start("alive too", long)
		s.pass(time.Minute)
		var ids []string
		for _, w := range s.page.snapshot().Spawners[0].Workers {
			ids = append(ids, w.ID)
		}
		require.Equal(t, []string{"alive", "alive too", "failed", "last to end", "first to end"}, ids)
	})
}

func TestTroubleFirst(t *testing.T) {
	roster := []spawn.WorkerStatus{
		{ID: "done", State: spawn.Succeeded}, {ID: "runs", State: spawn.Running}, {ID: "dead", State: spawn.Dead},
		{ID: "waits", State: spawn.BackingOff}, {ID: "parked", State: spawn.Parked},
	}
	kept, omitted := keep(roster, 3, trouble)
	require.Equal(t, 2, omitted)
	require.Equal(t, []string{"dead", "waits", "parked"}, []string{kept[0].ID, kept[1].ID, kept[2].ID})
}

// A handler that never ends its write holds nobody up.
func TestSlowReader(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		scenes["paused"](s)
		w := &stuck{header: make(http.Header), wrote: make(chan struct{}), release: make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		}()
		<-w.wrote
		s.limiter.Hold("a change, while somebody reads")
		require.Contains(t, s.get("/").body, "a change, while somebody reads")
		close(w.release)
		<-done
	})
}

type stuck struct {
	header         http.Header
	wrote, release chan struct{}
}

func (s *stuck) Header() http.Header { return s.header }
func (s *stuck) WriteHeader(int)     {}
func (s *stuck) Write(p []byte) (int, error) {
	close(s.wrote)
	<-s.release
	return len(p), nil
}

func TestConfig(t *testing.T) {
	_, err := New(Config{History: -time.Second})
	require.EqualError(t, err, "statuspage: Config.History is -1s: it must be positive, or 0 for 30m0s")
}
