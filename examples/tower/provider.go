package main

import (
	"context"
	"fmt"
	"io"

	"github.com/holdoff-go/holdoff/internal/provider"
)

// serveProvider serves a provider for a client of the reader's own, until ctx
// ends: a storm from the first call on, and then none.
func serveProvider(ctx context.Context, o options, out io.Writer) error {
	var refusal provider.Answer
	if o.retryAfter.mixed {
		refusal = provider.RateLimited(0)
	} else {
		refusal = provider.RateLimited(o.retryAfter.wait)
	}
	p, err := provider.Start(provider.Config{Listen: o.listen, Script: provider.Storm(0, o.storm, refusal)})
	if err != nil {
		return err
	}
	defer p.Close()
	fmt.Fprintf(out, "OPENAI_BASE_URL=%s\n", p.URL())
	fmt.Fprintf(out, "It refuses every call for %v from the first one on, and then accepts.\nInterrupt it to see what it counted.\n", o.storm)
	<-ctx.Done()
	n := p.Counts()
	fmt.Fprintf(out, "%d calls, %d accepted, %d refused\n", n.Calls, n.Accepted, n.Refused)
	return nil
}
