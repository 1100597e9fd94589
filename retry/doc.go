// Package retry says what a failure means and when it may be tried again.
//
// A [Classifier] turns an error into a [Verdict]: a [Class], the wait that the
// provider stated, and whose limit it is. [Standard] knows the errors of HTTP
// APIs, gRPC, the Go standard library, SDKs and the command lines of agents,
// without importing any SDK. [First] puts your own rules before it.
//
// [Do] calls a function under a [Policy]: it asks the classifier first, climbs a
// ladder of waits for failures that pass, and gives up at once on those that do
// not. What it gives up on is an [Error], which names its class and holds every
// cause:
//
//	answer, err := retry.Do(ctx, retry.Policy{}, func(ctx context.Context) (string, error) {
//		return client.Complete(ctx, prompt)
//	})
//	if errors.Is(err, retry.QuotaExhausted) {
//		// no retry will help; another credential might
//	}
//
// Do retries one call. To hold off a fleet of workers together, use package
// spawn, which is built on the same verdicts.
package retry
