package retry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/retry"
)

// The types below have the exported methods and fields of the errors of SDKs
// that neither the core nor package sdktest imports.

type (
	azureError struct { // azcore exported.ResponseError
		ErrorCode   string
		StatusCode  int
		RawResponse *http.Response
	}
	googleAPIError struct { // googleapi.Error
		Code    int
		Message string
		Details []any
		Body    string
		Header  http.Header
	}
	gaxError struct { // gax-go apierror.APIError around gRPC
		reason   string
		metadata map[string]string
	}
	genAIError struct { // genai.APIError, a value
		Code    int
		Message string
		Status  string
		Details []map[string]any
	}
	k8sError  struct{ ErrStatus k8sStatus } // apimachinery errors.StatusError
	k8sStatus struct {
		Kind    string      `json:"kind,omitempty"`
		Status  string      `json:"status,omitempty"`
		Message string      `json:"message,omitempty"`
		Reason  string      `json:"reason,omitempty"`
		Details *k8sDetails `json:"details,omitempty"`
		Code    int32       `json:"code,omitempty"`
	}
	k8sDetails struct {
		RetryAfterSeconds int32 `json:"retryAfterSeconds,omitempty"`
	}
	temporalExhausted struct { // serviceerror.ResourceExhausted
		Cause   exhaustedCause
		Scope   exhaustedScope
		Message string
	}
	slackLimited struct{ RetryAfter time.Duration } // slack.RateLimitedError
	slackStatus  struct {                           // slack.StatusCodeError, a value
		Code   int
		Status string
	}
	slackResponse struct{ Err string } // slack.SlackErrorResponse, a value
	stripeError   struct {             // stripe.Error
		HTTPStatusCode  int
		Code, Type, Msg string
	}
	twilioError struct { // client.TwilioRestError
		Code, Status int
		Message      string
	}
	discordError     struct{ *discordRateLimit } // discordgo.RateLimitError
	discordRateLimit struct {
		*discordTooMany
		URL string
	}
	discordTooMany struct{ RetryAfter time.Duration }
	cohereError    struct{ *cohereAPIError } // cohere TooManyRequestsError
	cohereAPIError struct {
		StatusCode int
		err        error //lint:ignore U1000 the real one has it, unexported and not reachable
	}
	ollamaError struct { // api.StatusError, a value
		StatusCode           int
		Status, ErrorMessage string
	}
	connectError struct { // connect.Error
		code connectCode
		meta http.Header
	}
	connectCode  uint32
	fantasyError struct { // ProviderError
		StatusCode      int
		ResponseHeaders map[string]string
		ResponseBody    []byte
	}
	hcloudError struct { // hcloud.Error, a value
		Code, Message string
		response      *hcloudResponse
	}
	hcloudResponse  struct{ *http.Response }
	gitlabError     struct{ Response *http.Response }  // gitlab and godo ErrorResponse
	smithyResponse  struct{ Response *hcloudResponse } // smithy transport/http.ResponseError
	RetryAfterError struct{ Duration time.Duration }   // cenkalti/backoff v5
	teaError        struct {                           // Alibaba's tea.SDKError: pointers throughout
		Code, Message *string
		StatusCode    *int
	}
	spotifyError struct { // spotify.Error
		Message    string
		Status     int
		RetryAfter time.Time
	}
	ociError        struct{ status int }        // oci common.ServiceError
	oldAWSError     struct{ code, text string } // aws-sdk-go awserr.Error
	statusError     struct{ status int }        // of many a home-made client
	httpStatusError struct{ status int }        // the same
	headerError     int                         // the same
	respError       struct{ Resp *http.Response }
	secondsError    struct { // the same
		StatusCode int
		RetryAfter float64
	}
	textualError struct { // the same
		StatusCode int
		RetryAfter string
	}
	stainless struct { // openai-go and anthropic-sdk-go
		StatusCode int
		Response   *http.Response
		dumped     *bool
	}
)

func (e *azureError) Error() string     { return "POST https://x.openai.azure.com/" }
func (e *googleAPIError) Error() string { return "googleapi: got HTTP response code" }
func (e *gaxError) Error() string       { return "rpc error: error details: retry in 37s" }
func (e *gaxError) HTTPCode() int       { return -1 }
func (e *gaxError) Reason() string      { return e.reason }
func (e *gaxError) Domain() string      { return "googleapis.com" }
func (e *gaxError) GRPCStatus() *grpcStatus {
	return &grpcStatus{code: 8, message: "Quota exceeded"}
}
func (e *gaxError) Metadata() map[string]string  { return e.metadata }
func (e genAIError) Error() string               { return fmt.Sprintf("Error %d, Message: %s", e.Code, e.Message) }
func (e *k8sError) Error() string                { return "please wait" }
func (e *k8sError) Status() k8sStatus            { return e.ErrStatus }
func (e *temporalExhausted) Error() string       { return e.Message }
func (e *temporalExhausted) Status() *grpcStatus { return &grpcStatus{code: 8, message: e.Message} }
func (e *slackLimited) Error() string {
	return fmt.Sprintf("slack rate limit exceeded, retry after %s", e.RetryAfter)
}
func (e *slackLimited) Retryable() bool   { return true }
func (e slackStatus) Error() string       { return "slack server error: " + e.Status }
func (e slackStatus) HTTPStatusCode() int { return e.Code }
func (e slackResponse) Error() string     { return e.Err }
func (e *stripeError) Error() string      { b, _ := json.Marshal(e); return string(b) }
func (e *twilioError) Error() string      { return "Status: 429 - ApiError 20429: Too Many Requests" }
func (e *discordError) Error() string     { return "Rate limit exceeded on " + e.URL }
func (e *cohereError) Error() string {
	return "You are using a Trial key, which is limited to 20 API calls / minute."
}
func (e *cohereError) Unwrap() error            { return e.cohereAPIError }
func (e *cohereAPIError) Error() string         { return "429" }
func (e ollamaError) Error() string             { return e.ErrorMessage }
func (c connectCode) String() string            { return "resource_exhausted" }
func (e *connectError) Error() string           { return "resource_exhausted: slow" }
func (e *connectError) Code() connectCode       { return e.code }
func (e *connectError) Message() string         { return "slow" }
func (e *connectError) Meta() http.Header       { return e.meta }
func (e *fantasyError) Error() string           { return "provider error" }
func (e hcloudError) Error() string             { return e.Message }
func (e hcloudError) Response() *hcloudResponse { return e.response }
func (e *gitlabError) Error() string            { return "GET: 429" }
func (e *smithyResponse) Error() string         { return "http response error" }
func (e *RetryAfterError) Error() string        { return "retry after " + e.Duration.String() }

func (e *teaError) Error() string         { return "SDKError" }
func (e spotifyError) Error() string      { return "spotify: " + e.Message }
func (e ociError) Error() string          { return "Error returned by Compute Service" }
func (e ociError) GetHTTPStatusCode() int { return e.status }
func (e ociError) GetCode() string        { return "TooManyRequests" }
func (e oldAWSError) Error() string       { return e.text }
func (e oldAWSError) Code() string        { return e.code }
func (e statusError) Error() string       { return "call failed" }
func (e statusError) Status() int         { return e.status }
func (e httpStatusError) Error() string   { return "call failed" }
func (e httpStatusError) HTTPStatus() int { return e.status }
func (e headerError) StatusCode() int     { return int(e) }
func (e headerError) Header() http.Header { return http.Header{"Retry-After": {"6"}} }
func (e headerError) Error() string       { return "call failed" }
func (e *respError) Error() string        { return "call failed" }
func (e secondsError) Error() string      { return "call failed" }
func (e textualError) Error() string      { return "call failed" }
func (e *stainless) Error() string        { return "POST: failed" }
func (e *stainless) DumpResponse(bool) []byte {
	*e.dumped = true
	return []byte("HTTP/1.1 500 Internal Server Error\r\n\r\n")
}

func TestStandard_ShapesOfSDKs(t *testing.T) {
	answer := func(status int, headers ...string) *http.Response {
		h := http.Header{}
		for i := 0; i < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return &http.Response{StatusCode: status, Header: h}
	}
	retryInfo := map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}
	perDay := map[string]any{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{map[string]any{"quotaId": "RequestsPerDay"}}}
	k8s := k8sStatus{Kind: "Status", Status: "Failure", Message: "please wait", Reason: "TooManyRequests", Details: &k8sDetails{3}, Code: 429}

	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		err   error
		class retry.Class
		wait  time.Duration
		scope retry.Scope
	}{
		"azcore":                {&azureError{"429", 429, answer(429, "x-ms-retry-after-ms", "8734")}, retry.RateLimited, 8734 * time.Millisecond, ""},
		"azcore quota":          {&azureError{"QuotaExceeded", 409, answer(409)}, retry.QuotaExhausted, 0, ""},
		"googleapi header":      {&googleAPIError{Code: 429, Message: "slow", Header: http.Header{"Retry-After": {"9"}}}, retry.RateLimited, 9 * time.Second, ""},
		"googleapi details":     {&googleAPIError{Code: 429, Message: "slow", Details: []any{retryInfo}}, retry.RateLimited, 37 * time.Second, ""},
		"googleapi body":        {&googleAPIError{Code: 403, Body: `{"error":{"errors":[{"reason":"dailyLimitExceeded"}]}}`}, retry.QuotaExhausted, 0, ""},
		"googleapi rate in 403": {&googleAPIError{Code: 403, Body: `{"error":{"errors":[{"reason":"userRateLimitExceeded"}]}}`}, retry.RateLimited, 0, ""},
		"gax":                   {&gaxError{"RATE_LIMIT_EXCEEDED", map[string]string{"quota_limit": "RequestsPerMinutePerProject"}}, retry.RateLimited, 0, retry.ScopeProject},
		"gax per day":           {&gaxError{"RATE_LIMIT_EXCEEDED", map[string]string{"quota_limit": "RequestsPerDayPerProject"}}, retry.QuotaExhausted, 0, retry.ScopeProject},
		"genai":                 {genAIError{429, "You exceeded your current quota.", "RESOURCE_EXHAUSTED", []map[string]any{retryInfo}}, retry.RateLimited, 37 * time.Second, ""},
		"genai per day":         {fmt.Errorf("x: %w", genAIError{429, "You exceeded your current quota.", "RESOURCE_EXHAUSTED", []map[string]any{perDay, retryInfo}}), retry.QuotaExhausted, 0, ""},
		"kubernetes":            {&k8sError{k8s}, retry.RateLimited, 3 * time.Second, ""},
		"temporal service":      {&temporalExhausted{1, 1, "namespace rate limit exceeded"}, retry.RateLimited, 0, retry.ScopeNamespace},
		"temporal application":  {&fakeTemporal{msg: "bad input (type: X, retryable: false)", nonRetryable: true}, retry.Fatal, 0, ""},
		"slack limited":         {&slackLimited{30 * time.Second}, retry.RateLimited, 30 * time.Second, ""},
		"slack status":          {slackStatus{429, "429 Too Many Requests"}, retry.RateLimited, 0, ""},
		"slack response":        {slackResponse{"ratelimited"}, retry.RateLimited, 0, ""},
		"slack auth":            {slackResponse{"invalid_auth"}, retry.Auth, 0, ""},
		"stripe":                {&stripeError{429, "rate_limit", "invalid_request_error", "Too many requests"}, retry.RateLimited, 0, ""},
		"stripe lock":           {&stripeError{429, "lock_timeout", "invalid_request_error", "locked"}, retry.Transient, 0, ""},
		"twilio":                {&twilioError{20429, 429, "Too Many Requests"}, retry.RateLimited, 0, ""},
		"discord":               {&discordError{&discordRateLimit{&discordTooMany{1500 * time.Millisecond}, "x"}}, retry.RateLimited, 1500 * time.Millisecond, ""},
		"cohere":                {&cohereError{&cohereAPIError{StatusCode: 429}}, retry.RateLimited, 0, retry.ScopeKey},
		"ollama":                {ollamaError{429, "429 Too Many Requests", "you have reached your weekly usage limit"}, retry.QuotaExhausted, 0, retry.ScopeAccount},
		"ollama busy":           {ollamaError{503, "503 Service Unavailable", "server busy, please try again"}, retry.Overloaded, 0, ""},
		"connect":               {&connectError{8, http.Header{"Retry-After": {"4"}}}, retry.RateLimited, 4 * time.Second, ""},
		"connect unauthorised":  {&connectError{16, nil}, retry.Auth, 0, ""},
		"fantasy":               {&fantasyError{429, map[string]string{"retry-after-ms": "2500"}, []byte(`{"error":{"code":"rate_limit_exceeded"}}`)}, retry.RateLimited, 2500 * time.Millisecond, ""},
		"fantasy quota":         {&fantasyError{429, nil, []byte(`{"error":{"code":"insufficient_quota"}}`)}, retry.QuotaExhausted, 0, ""},
		"hcloud":                {hcloudError{"rate_limit_exceeded", "limit of 3600 requests per hour reached", &hcloudResponse{answer(429, "RateLimit-Remaining", "0", "RateLimit-Reset", "5")}}, retry.RateLimited, 5 * time.Second, ""},
		"hcloud unavailable":    {hcloudError{"resource_unavailable", "error during placement", nil}, retry.Overloaded, 0, ""},
		"gitlab":                {&gitlabError{answer(429, "Retry-After", "7")}, retry.RateLimited, 7 * time.Second, ""},
		"smithy":                {&smithyResponse{&hcloudResponse{answer(503, "x-amz-retry-after", "1500")}}, retry.Overloaded, 1500 * time.Millisecond, ""},
		"tea":                   {&teaError{ptr("Throttling.User"), ptr("Request was denied due to user flow control."), ptr(429)}, retry.RateLimited, 0, ""},
		"tea without a status":  {&teaError{Code: ptr("Throttling.User")}, retry.RateLimited, 0, ""},
		"spotify":               {spotifyError{"API rate limit exceeded", 429, now.Add(30 * time.Second)}, retry.RateLimited, 30 * time.Second, ""},
		"spotify, past":         {spotifyError{"API rate limit exceeded", 429, now.Add(-time.Second)}, retry.RateLimited, 0, ""},
		"oci":                   {ociError{429}, retry.RateLimited, 0, ""},
		"aws of old":            {oldAWSError{"ThrottlingException", "x"}, retry.RateLimited, 0, ""},
		"code of an own error":  {oldAWSError{"E17", "x"}, retry.Unknown, 0, ""},
		"a method Status":       {statusError{503}, retry.Overloaded, 0, ""},
		"a method HTTPStatus":   {httpStatusError{401}, retry.Auth, 0, ""},
		"no HTTPStatus":         {httpStatusError{0}, retry.Unknown, 0, ""},
		"a method Header":       {headerError(429), retry.RateLimited, 6 * time.Second, ""},
		"a Header beside a 404": {headerError(404), retry.Fatal, 0, ""},
		"a field Resp":          {&respError{answer(429, "Retry-After", "20")}, retry.RateLimited, 20 * time.Second, ""},
		"no Resp":               {&respError{}, retry.Unknown, 0, ""},
		"an exit status":        {statusError{1}, retry.Unknown, 0, ""},
		"wait in seconds":       {secondsError{429, 1.5}, retry.RateLimited, 1500 * time.Millisecond, ""},
		"wait in words":         {textualError{429, "30s"}, retry.RateLimited, 30 * time.Second, ""},
		"backoff v5":            {&RetryAfterError{11 * time.Second}, retry.RateLimited, 11 * time.Second, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			v := retry.Ask(context.Background(), retry.Standard(frozen(now)), c.err)
			require.Equal(t, c.class, v.Class, "%s", v)
			require.Equal(t, c.wait, v.RetryAfter, "%s", v)
			require.Equal(t, c.wait > 0, v.Stated, "%s", v)
			if c.scope != "" {
				require.Equal(t, c.scope, v.Scope, "%s", v)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestStandard_AResponseInReachIsNotDumped(t *testing.T) {
	for name, c := range map[string]struct {
		err  stainless
		want retry.Class
		dump bool
	}{
		"by its status":   {stainless{StatusCode: 429}, retry.RateLimited, false},
		"by its response": {stainless{Response: &http.Response{StatusCode: 429}}, retry.RateLimited, false},
		"out of reach":    {stainless{}, retry.Transient, true},
	} {
		t.Run(name, func(t *testing.T) {
			dumped := false
			c.err.dumped = &dumped
			v := retry.Ask(t.Context(), retry.Standard(nil), &c.err)
			require.Equal(t, c.want, v.Class, "%s", v)
			require.Equal(t, c.dump, dumped, "a dump rewrites the response's body")
		})
	}
}
