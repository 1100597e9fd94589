package retry_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The types below have the methods and fields of grpc-go's, which the core does
// not import; package sdktest shows the same with the real ones.

type grpcError struct{ status *grpcStatus }

func (e *grpcError) Error() string {
	return "rpc error: code = " + e.status.code.String() + " desc = " + e.status.message
}
func (e *grpcError) GRPCStatus() *grpcStatus { return e.status }

type grpcStatus struct {
	code    grpcCode
	message string
	details []any
}

func (s *grpcStatus) Code() grpcCode  { return s.code }
func (s *grpcStatus) Message() string { return s.message }
func (s *grpcStatus) Details() []any  { return s.details }

type grpcCode uint32

func (c grpcCode) String() string {
	return []string{
		"OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists", "PermissionDenied", "ResourceExhausted",
		"FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss", "Unauthenticated",
	}[c]
}

type (
	RetryInfo     struct{ RetryDelay *protoDuration }
	protoDuration struct {
		Seconds int64
		Nanos   int32
	}
	QuotaFailure           struct{ Violations []*QuotaFailure_Violation }
	QuotaFailure_Violation struct{ Subject, Description, QuotaId string }
	ErrorInfo              struct {
		Reason, Domain string
		Metadata       map[string]string
	}
	ResourceExhaustedFailure struct {
		Cause exhaustedCause
		Scope exhaustedScope
	}
	exhaustedCause int32
	exhaustedScope int32
)

func (exhaustedCause) String() string { return "RpsLimit" }
func (exhaustedScope) String() string { return "Namespace" }

func newGRPCError(t testing.TB, s *sample) error {
	var body struct {
		Details []struct {
			Type       string `json:"@type"`
			RetryDelay string
			Violations []*QuotaFailure_Violation
			Reason     string
			Domain     string
			Metadata   map[string]string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(s.Body), &body))
	status := &grpcStatus{code: grpcCode(s.Status), message: s.Text}
	for _, d := range body.Details {
		switch d.Type[strings.LastIndex(d.Type, ".")+1:] {
		case "RetryInfo":
			delay, err := time.ParseDuration(d.RetryDelay)
			require.NoError(t, err)
			status.details = append(status.details, &RetryInfo{&protoDuration{int64(delay / time.Second), int32(delay % time.Second)}})
		case "QuotaFailure":
			status.details = append(status.details, &QuotaFailure{d.Violations})
		case "ErrorInfo":
			status.details = append(status.details, &ErrorInfo{d.Reason, d.Domain, d.Metadata})
		case "ResourceExhaustedFailure":
			status.details = append(status.details, &ResourceExhaustedFailure{1, 1})
		default:
			require.FailNow(t, "no such detail", d.Type)
		}
	}
	return &grpcError{status}
}
