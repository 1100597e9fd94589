package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/holdoff-go/holdoff/retry"
)

// reason tells an error in a few words: of a refusal its status, its code where
// that says more, and the wait it states; of a failed connection why, and not to
// where, which is the same for all.
func reason(err error) string {
	var refused *retry.ResponseError
	if !errors.As(err, &refused) {
		var call *url.Error
		var connection *net.OpError
		var system *os.SyscallError
		switch {
		case errors.As(err, &system):
			err = system.Err
		case errors.As(err, &connection):
			err = connection.Err
		case errors.As(err, &call):
			err = call.Err
		}
		line, _, _ := strings.Cut(err.Error(), "\n")
		return line
	}
	words := fmt.Sprint(refused.StatusCode)
	var body struct {
		Error struct{ Code, Type string }
	}
	if json.Unmarshal(refused.Body, &body) == nil {
		code := cmp.Or(body.Error.Code, body.Error.Type)
		if code != "" && code != "rate_limit_exceeded" { // which is what a 429 means
			words += " " + code
		}
	}
	if wait := refused.Header.Get("Retry-After"); wait != "" {
		words += ", Retry-After " + wait
	}
	return words
}
