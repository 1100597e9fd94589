package provider

import "time"

// A Script says what becomes of each call. It is called once a call, as the call
// arrives, from many goroutines at once.
type Script func(Call) Answer

// Always answers every call alike.
func Always(a Answer) Script {
	return func(Call) Answer { return a }
}

// Storm gives the answer a to every call that arrives from a time on and before
// another, both since the first call, and accepts all others.
func Storm(from, until time.Duration, a Answer) Script {
	return func(c Call) Answer {
		if from <= c.At && c.At < until {
			return a
		}
		return Answer{}
	}
}
