package statuspage_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/statuspage"
)

// The page is made first, so that it hears of every change of the limiter.
func Example() {
	page, err := statuspage.New(statuspage.Config{Title: "tower 7"})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := limiter.New(limiter.Config{Name: "openai", OnEvent: page.OnLimiterEvent})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := spawn.New(spawn.Config{Limiter: l})
	if err != nil {
		fmt.Println(err)
		return
	}
	page.WatchLimiter(l)
	page.WatchSpawner("agents", s)

	mux := http.NewServeMux()
	mux.Handle("/holdoff", page)

	l.ReportRateLimited(time.Minute)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/holdoff?format=json", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 application/json
}

// The limiters of a map, which come and go, are asked for with each request.
func ExamplePage_WatchLimiters() {
	page, err := statuspage.New(statuspage.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	statuses := func() []limiter.Status {
		return []limiter.Status{{Name: "key 1", Budget: 16}, {Name: "key 2", Budget: 4}}
	}
	page.WatchLimiters(statuses)
	// Output:
}
