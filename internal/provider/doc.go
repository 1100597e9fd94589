// Package provider simulates an LLM provider that says no for a while. It is a
// real HTTP server on loopback that speaks the OpenAI chat-completions shape,
// streaming included, and it refuses as providers do: a real 429 with their
// error envelope, with or without Retry-After; an exhausted quota; an overload;
// a stream that breaks midway.
//
// A [Script] says what becomes of each call, and [Storm] is the usual one:
//
//	p, err := provider.Start(provider.Config{
//		Latency: 200 * time.Millisecond,
//		Script:  provider.Storm(time.Second, 3*time.Second, provider.RateLimited(0)),
//	})
//	if err != nil {
//		return err
//	}
//	defer p.Close()
//	resp, err := http.Post(p.URL()+"/chat/completions", "application/json", body)
//	fmt.Println(p.Counts().Refused)
//
// The provider counts what it sees, in all and by worker (the request's "user")
// and by key, so that a figure in an example or a test is the provider's own and
// not the word of the client under test.
//
// In a testing/synctest bubble, where a socket never counts as idle, take
// [Server.Transport] instead of the URL: the same handler without a network.
package provider
