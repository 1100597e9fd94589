// Package compat tests holdoff against what its users bring along: the fake
// clocks of clockwork, benbjohnson/clock and k8s.io/utils, which must work with
// no adapter. It also holds the tests that need a library of their own: the model
// tests, which compare the limiter with a second, simpler telling of its rules.
//
// It is a module of its own, so that none of this reaches the go.sum of those who
// import holdoff. Run it from here:
//
//	go test -race ./...
//	go test -run Model -rapid.checks 10000
//	go test -fuzz FuzzModel
package compat
