// Package bench measures what holdoff costs, beside libraries that do less, in
// one run. It is a module of its own, so that those libraries do not reach the
// go.sum of those who import holdoff. Run it from here:
//
//	go test -bench . -benchmem -count 5
package bench
