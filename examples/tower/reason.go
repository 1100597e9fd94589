package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/holdoff-go/holdoff/retry"
)

// reason tells an error in a few words: of a refusal its status, its code where
// that says more, and the wait it states.
func reason(err error) string {
	var refused *retry.ResponseError
	if !errors.As(err, &refused) {
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
