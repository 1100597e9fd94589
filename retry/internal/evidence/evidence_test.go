package evidence

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStatusIn(t *testing.T) {
	cases := map[string]int{
		"status code: 429":               429,
		"http 503":                       503,
		"http/1.1 529 overloaded":        529,
		"api error: 429 {":               429,
		"request rejected (429) · later": 429,
		"error 429, message: slow":       429,
		"got 500 internal server error":  0,
		"returned error: 429":            429,
		"npm error code e429":            429,
		"429 too many requests":          429,
		"500 internal server error, then 429 too many requests": 429,
		"get url: 403 you have exceeded":                        403,
		"(status 403 forbidden)":                                403,
		"429 status code (no body)":                             429,
		"Error: 402 status code (no body)":                      402,
		"400 Client Error: Bad Request for url: URL":            400,
		"529 Server Error: Unknown for url":                     529,
		"HTTP status server error (529 <unknown status code>)":  529,
		"ClientResponseError: 403, message='Forbidden'":         403,
		"429, message='', url=URL":                              429,
		"too many 503 error responses":                          503,
		"InvalidArgument: 400 Request contains an argument":     400,
		"exceptions.ResourceExhausted: 429 Quota exceeded":      429,
		"Error: 402 You have no quota":                          402,
		"Unexpected response code: 500 (No leader)":             500,
		"Server returned HTTP response code: 503 for URL":       503,
		"does not indicate success: 520 (<none>)":               520,
		"x\nCode: 403. Errors:":                                 403,
		"Response{protocol=h2, code=529, message=, url=URL}":    529,
		"failed: code=429 msg=slow down":                        429,
		"received 429 response from server":                     429,
		"received a 503 from upstream":                          503,
		"HTTP response from `URL` (1.2.3.4), got 429":           429,
		"the API answered with a 529":                           529,
		"resulted in a `529` response":                          529,
		"Status code was 429 and not [200]":                     429,
		"request failed (429)":                                  429,
		"Error fetching from URL: [503 ] x":                     503,
		"API response code was 429":                             429,
		"from server: 429 (Too Many Requests)":                  429,
		`POST "URL": 529`:                                       529,
		"issue #503: status unknown":                            0,
		"expected status code 200 but got 429":                  0,
		"expect 200, got 429 from the server":                   0,
		"Received: 429":                                         0,
		"assert 429 == 200":                                     0,
		"received 429 bytes from server":                        0,
		"the server returned 500 rows":                          0,
		"got 429, server was slow, want 200":                    0,
		"sum() returned 429":                                    0,
		"area code: 503":                                        0,
		"exit code=429":                                         0,
		"the code 429":                                          0,
		"Error: 429 Tests failed":                               0,
		"TestResults: 429 Passed":                               0,
		"LineCount: 429 Over the limit":                         0,
		"429 tests passed":                                      0,
		"main.go:429:17: undefined":                             0,
		"processed 429 files":                                   0,
		"error: 429 files could not be formatted":               0,
		"response 429 bytes":                                    0,
		"line 429: bad":                                         0,
		"port 4290":                                             0,
		"id 529-429-x":                                          0,
		"status 4290":                                           0,
		"version 4.429":                                         0,
		"":                                                      0,
	}
	for text, want := range cases {
		t.Run(text, func(t *testing.T) { require.Equal(t, want, statusIn(text)) })
	}
}

func TestGRPCCodeIn(t *testing.T) {
	cases := map[string]int{
		"rpc error: code = Unavailable desc = x":                    14,
		"rpc error: code = ResourceExhausted desc = x":              8,
		"io.grpc.StatusRuntimeException: UNAVAILABLE: io exception": 14,
		"io.grpc.StatusRuntimeException: CANCELLED":                 1,
		"status = StatusCode.RESOURCE_EXHAUSTED\n\tdetails = \"x\"": 8,
		`Status(StatusCode="Unauthenticated", Detail="x")`:          16,
		`status: PermissionDenied, message: "x"`:                    7,
		"ConnectError: [unavailable] Error":                         14,
		"twirp error unauthenticated: bad token":                    16,
		"Error: 14 UNAVAILABLE: No connection established":          14,
		"8 RESOURCE_EXHAUSTED: x":                                   8,
		"Error: 13 UNAVAILABLE: x":                                  0,
		"UNKNOWN: x":                                                0,
		"exit code = 1":                                             0,
		"code = Internals":                                          0,
		"status: unknown":                                           0,
		"[internal] starting":                                       0,
		"":                                                          0,
	}
	for text, want := range cases {
		t.Run(text, func(t *testing.T) { require.Equal(t, want, grpcCodeIn(text)) })
	}
}

func TestClean(t *testing.T) {
	cases := map[string]string{
		"as it is":                              "as it is",
		"  a \t b\r\nc\n\n d ":                  "a b\nc\nd",
		"see https://x.test/429?a=1. Then go":   "see URL. Then go",
		`POST "http://127.0.0.1:42911/v1": 500`: `POST "URL": 500`,
		"You’ve hit it":                         "You've hit it",
		"3:05\u202fPM\u00a0UTC":                 "3:05 PM UTC",
		"· resets 3pm ∙":                        "· resets 3pm ∙",
	}
	for text, want := range cases {
		t.Run(text, func(t *testing.T) {
			e := Evidence{}
			require.Equal(t, want, e.clean(text))
			require.Equal(t, want, e.clean(want), "cleaning twice changes nothing")
		})
	}
	require.Equal(t, "red text", plain("\x1b[31mred\x1b[0m \x1b]0;title\x07text"))
}

func TestEvidence_JSONInStrings(t *testing.T) {
	body := `{"error":{"code":"innermost","message":"deep"}}`
	for range 5 {
		body = fmt.Sprintf(`{"error":{"message":%q}}`, body)
	}
	e := Evidence{Now: time.Now()}
	e.Text(body, true)
	require.Equal(t, []string{"innermost"}, e.Codes)
	require.Equal(t, "deep", e.Said())
}

func TestEvidence_OnlyEnvelopesCountInHealthyAnswers(t *testing.T) {
	e := Evidence{}
	e.HTTP(200, nil, `{"choices":[{"message":{"content":"{\"error\":{\"code\":429}}"}}],"error":null,"errors":[],"base_resp":{"status_code":0},"rate_limit_info":{"status":"allowed_warning"}}`)
	require.False(t, e.Envelope)
	require.Zero(t, e.AnyStatus()-200)
	require.Empty(t, e.Codes)
	require.Empty(t, e.Said()+e.Free())
}

func TestEvidence_InnerStatus(t *testing.T) {
	cases := []struct{ outer, inner, want int }{
		{200, 429, 429}, {500, 429, 429}, {502, 401, 401}, {400, 429, 429}, {503, 429, 429}, {429, 500, 429}, {403, 500, 403}, {0, 529, 529}, {404, 0, 404},
	}
	for _, c := range cases {
		e := Evidence{Status: c.outer}
		e.inner(c.inner)
		require.Equal(t, c.want, e.AnyStatus(), "%d in %d", c.inner, c.outer)
	}
}

func TestChain_StopsInCircles(t *testing.T) {
	round := &loop{}
	round.next = round
	chain, members := Chain(nil, round)
	require.Len(t, chain, maxNodes)
	require.Nil(t, members)

	n := 0
	Walk(errors.Join(round, round), func(error) bool { n++; return true })
	require.Equal(t, maxNodes, n)
}

type loop struct{ next error }

func (*loop) Error() string   { return "loop" }
func (l *loop) Unwrap() error { return l.next }

func TestBound(t *testing.T) {
	require.Len(t, bound(`{"a":"`+strings.Repeat("x", maxText)), maxText)
	both := bound(strings.Repeat("a\n", maxText) + "the end")
	require.LessOrEqual(t, len(both), maxText+1)
	require.True(t, strings.HasPrefix(both, "a\n") && strings.HasSuffix(both, "the end"))
}
