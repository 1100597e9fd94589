package sdktest

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/holdoff-go/holdoff/retry"
)

// callGRPC returns the error that a real client gets of a real server which
// answers with s.
func callGRPC(t *testing.T, s *status.Status) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return s.Err() }))
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-done })
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn.Invoke(t.Context(), "/x.Y/Z", &emptypb.Empty{}, &emptypb.Empty{})
}

func TestGRPC(t *testing.T) {
	retryInfo := func(d time.Duration) protoadapt.MessageV1 {
		return &errdetails.RetryInfo{RetryDelay: durationpb.New(d)}
	}
	cases := []struct {
		answer
		code    codes.Code
		message string
		details []protoadapt.MessageV1
	}{
		{answer{name: "RetryInfo", class: retry.RateLimited, wait: 37 * time.Second}, codes.ResourceExhausted, "slow", []protoadapt.MessageV1{retryInfo(37 * time.Second)}},
		{answer{name: "no details", class: retry.RateLimited}, codes.ResourceExhausted, "slow", nil},
		{answer{name: "per day", class: retry.QuotaExhausted, scope: retry.ScopeProject}, codes.ResourceExhausted, "quota", []protoadapt.MessageV1{
			&errdetails.ErrorInfo{Reason: "RATE_LIMIT_EXCEEDED", Domain: "googleapis.com", Metadata: map[string]string{"quota_limit": "DefaultPerDayPerProject"}}, retryInfo(time.Second),
		}},
		{answer{name: "violation", class: retry.RateLimited, wait: 5 * time.Second, scope: retry.ScopeProject}, codes.ResourceExhausted, "quota", []protoadapt.MessageV1{
			&errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{Subject: "project:p", Description: "Requests per minute"}}}, retryInfo(5 * time.Second),
		}},
		{answer{name: "message too large", class: retry.Fatal}, codes.ResourceExhausted, "grpc: received message larger than max (5 vs. 4)", nil},
		{answer{name: "unavailable", class: retry.Transient}, codes.Unavailable, "connection closed", nil},
		{answer{name: "unavailable, come back", class: retry.Overloaded, wait: 9 * time.Second}, codes.Unavailable, "try later", []protoadapt.MessageV1{retryInfo(9 * time.Second)}},
		{answer{name: "unauthenticated", class: retry.Auth}, codes.Unauthenticated, "who?", nil},
		{answer{name: "canceled", class: retry.Canceled}, codes.Canceled, "stop", nil},
		{answer{name: "aborted", class: retry.Transient}, codes.Aborted, "again", nil},
		{answer{name: "bad request", class: retry.Fatal}, codes.InvalidArgument, "no", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := status.New(c.code, c.message).WithDetails(c.details...)
			require.NoError(t, err)
			err = callGRPC(t, s)
			requireVerdict(t, c.answer, err)
			requireVerdict(t, c.answer, fmt.Errorf("turn: %w", err))
		})
	}
}

// Details of a type that package retry does not know are a few lines in a
// classifier of one's own. Here a server puts its word on maintenance into
// google.rpc.ErrorInfo.
func ExampleClassifierFunc_grpcDetails() {
	maintenance := retry.ClassifierFunc(func(_ context.Context, err error) retry.Verdict {
		for _, detail := range status.Convert(err).Details() {
			if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetReason() == "MAINTENANCE" {
				wait, _ := time.ParseDuration(info.GetMetadata()["lasts"])
				return retry.Verdict{Class: retry.Overloaded, RetryAfter: wait, Rule: "ErrorInfo MAINTENANCE"}
			}
		}
		return retry.Verdict{}
	})

	s, _ := status.New(codes.FailedPrecondition, "closed").WithDetails(&errdetails.ErrorInfo{
		Reason: "MAINTENANCE", Metadata: map[string]string{"lasts": "10m"},
	})
	classifier := retry.First(maintenance, retry.Standard(nil))
	fmt.Println(retry.Ask(context.Background(), classifier, s.Err()))
	// Output: overloaded, retry after 10m0s: ErrorInfo MAINTENANCE
}
