package provider_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/holdoff-go/holdoff/internal/provider"
)

// One worker of three calls meets a provider that refuses the second one.
func ExampleStart() {
	p, err := provider.Start(provider.Config{Script: func(c provider.Call) provider.Answer {
		if c.N == 2 {
			return provider.RateLimited(20 * time.Second)
		}
		return provider.Answer{}
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()

	for range 3 {
		resp, err := http.Post(p.URL()+"/chat/completions", "application/json", strings.NewReader(
			`{"model":"sim-1","user":"w1","messages":[{"role":"user","content":"hello"}]}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = resp.Body.Close()
		fmt.Printf("%d %q\n", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	fmt.Printf("%+v\n", p.Counts().Workers["w1"])
	// Output:
	// 200 ""
	// 429 "20"
	// 200 ""
	// {Calls:3 Accepted:2 Refused:1 Broken:0 Canceled:0}
}
