// Package httplimit puts a limiter round any SDK's HTTP client, with one line:
//
//	hc := &http.Client{Transport: &httplimit.Transport{Limiter: lim}}
//	client := openai.NewClient(option.WithHTTPClient(hc), option.WithMaxRetries(0))
//
// Each call waits at the limiter's gate, and the limiter is told what became of
// it. An answer of 400 and above is put to a retry.Classifier, with its headers
// and the start of its body: up to the end of a JSON value, or what has come of it
// within a second, so that a body that hangs does not keep a refusal from being
// told. A call is accepted at the first byte of an answer
// below 400; of JSON and of server-sent events at the first message, because a
// 200 may hold an error all the same. A stream is looked at as the caller reads
// it, nothing is read ahead or held back, and an error in the middle of it counts
// when it comes. Errors of the network say nothing about an upstream's limits, and
// are not reported.
//
// The caller gets the response as it came. A pause that ends after the context's
// deadline, or after http.Client.Timeout, fails at once, with an error that SDKs
// hand through:
//
//	var blocked *limiter.BlockedError
//	if errors.As(err, &blocked) {
//		log.Printf("try again at %v", blocked.Until)
//	}
//
// # With spawn, and without
//
// Inside of a spawn attempt, found by the request's context, the attempt owns the
// call. It is gated once: the slot that was just got, or an Attempt.Wait, is leave
// for the next call. What it comes to is reported once, here, where headers and
// body are still at hand; the error that the SDK makes of it is recognised when
// the worker returns it, and one that says nothing any more ("step 3 failed") is
// taken for the failure of the last call, unless a later call was accepted.
// Refusals are not retried, and their responses carry "X-Should-Retry: false",
// which openai-go and anthropic-sdk-go honour.
//
// Without spawn, set Acquire: each call is then a piece of work of its own, with
// a slot of the budget, and waits for pauses that are assumed as well as stated.
// Retry adds the ladder.
//
// # Several quotas
//
// Limiter may be a gate of a limiter.Group, as a rule a client's for each model:
//
//	gate := group.Of(limiter.Key{Scope: "account", Name: "acme"}, limiter.Key{Scope: "model", Name: "acme/flash"})
//	hc := &http.Client{Transport: &httplimit.Transport{Limiter: gate}}
//
// A call passes all of its limiters, and a refusal pauses the one that the provider
// named: see [Limiter].
//
// # Switch the SDK's own retries off
//
// They know of one call and not of the fleet, and they multiply with everybody
// else's. The lines were read in the versions named:
//
//	SDK                         own retries   the client, and retries off
//	openai-go v3.99             2             option.WithHTTPClient(hc), option.WithMaxRetries(0)
//	anthropic-sdk-go v1.84      2             option.WithHTTPClient(hc), option.WithMaxRetries(0)
//	google.golang.org/genai     none          genai.ClientConfig{HTTPClient: hc}; they are off while
//	  v1.77                                   HTTPOptions.RetryOptions is nil, on both the client and the call
//	aws-sdk-go-v2 v1.48         2             config.WithHTTPClient(hc), config.WithRetryer(func() aws.Retryer {
//	                                          return aws.NopRetryer{} })
//	go-github v84, v88          none          github.NewClient(hc) and client.DisableRateLimitCheck = true; from v88
//	                                          github.WithDisableRateLimitCheck(): else it refuses calls by itself,
//	                                          without a request, until the time that a 403 named
//	sashabaranov/go-openai      none          cfg.HTTPClient = hc, with cfg := openai.DefaultConfig(key)
//	  v1.43
//	langchaingo v0.1.14         none          openai.WithHTTPClient(hc), anthropic.WithHTTPClient(hc), ollama and
//	                                          others alike; llms/mistral takes no client and retries by itself
//
// An SDK of whose retries some are left on takes a *limiter.BlockedError for a
// broken connection and asks again, each time in vain, before it hands it through.
//
// # Costs
//
// A call costs 0.4 µs more than with a bare transport when its body is text, 3.5 µs
// for 2 KiB of JSON, and 0.2 µs for each event of a stream, with four allocations
// more in a call and none in an event (BenchmarkRoundTrip, on two cores). At most
// 64 KiB of a message are held at a time. An answer of 400 and above takes a
// goroutine for as long as its start is read: beyond the second only until what was
// being read has come, or its body is closed.
//
// # Limits
//
// The first 64 KiB of an error body, and of each message of a stream, are looked
// at: of JSON nothing after a larger object, of events the next ones again.
// Compressed bodies that the caller asked for itself, and binary streams such as
// Bedrock's, are accepted at their first byte. A Transport under a client that
// follows redirects counts each hop as a call.
package httplimit
