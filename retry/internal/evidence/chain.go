package evidence

// maxNodes bounds the errors looked at in one tree. A chain can be a circle,
// which errors.Is and errors.As would go round for ever.
const maxNodes = 64

// Chain returns err and what it wraps, one below the other, down to the first
// error that wraps several, whose members it returns beside. The chain is
// appended to buf.
func Chain(buf []error, err error) (chain []error, members []error) {
	chain = buf
	for range maxNodes {
		if err == nil {
			return chain, nil
		}
		chain = append(chain, err)
		next, several := unwrap(err)
		if several != nil {
			return chain, several[:min(len(several), maxNodes)]
		}
		err = next
	}
	return chain, nil
}

// unwrap asks err what it wraps. Foreign errors may panic when half filled.
//
//lint:ignore ST1008 both results are what err wraps; neither is a failure
func unwrap(err error) (next error, several []error) {
	defer func() { _ = recover() }()
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return e.Unwrap(), nil
	case interface{ Unwrap() []error }:
		return nil, e.Unwrap()
	case interface{ Cause() error }: // pkg/errors before Go 1.13
		return e.Cause(), nil
	}
	return nil, nil
}

// Walk calls f with err and everything below it, depth first, until f returns
// false or enough was seen.
func Walk(err error, f func(error) bool) {
	nodes := 0
	walk(err, &nodes, f)
}

func walk(err error, nodes *int, f func(error) bool) bool {
	for err != nil && *nodes < maxNodes {
		*nodes++
		if !f(err) {
			return false
		}
		next, several := unwrap(err)
		for _, e := range several {
			if !walk(e, nodes, f) {
				return false
			}
		}
		err = next
	}
	return true
}

// Message returns err's text; "" if asking for it panics.
func Message(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	return err.Error()
}
