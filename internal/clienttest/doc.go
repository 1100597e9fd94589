// Package clienttest tests the real clients of OpenAI, Anthropic and Google
// through httplimit and spawn, each against a server on loopback that refuses as
// its provider does: nobody dies of a limit that passes, and one call of the
// client is one request, by the server's own count.
//
// It is a module of its own, so that the core requires no SDK.
package clienttest
