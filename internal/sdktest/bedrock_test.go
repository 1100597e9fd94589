package sdktest

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"

	"github.com/holdoff-go/holdoff/retry"
)

func TestBedrock(t *testing.T) {
	named := func(name string) map[string]string { return map[string]string{"X-Amzn-Errortype": name} }
	testAnswers(t, func(ctx context.Context, t *testing.T, url string) error {
		c := bedrockruntime.New(bedrockruntime.Options{
			Region: "us-east-1", BaseEndpoint: aws.String(url), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
			HTTPClient: client(t), Retryer: aws.NopRetryer{},
		})
		_, err := c.InvokeModel(ctx, &bedrockruntime.InvokeModelInput{ModelId: aws.String("x"), Body: []byte("{}")})
		return err
	}, []answer{
		{name: "throttle", status: 429, headers: named("ThrottlingException:http://internal.amazon.com/coral/"), body: `{"message":"Too many tokens, please wait before trying again."}`, class: retry.RateLimited},
		{name: "throttle on 400", status: 400, headers: named("ThrottlingException"), body: `{"message":"Rate exceeded"}`, class: retry.RateLimited},
		{
			name: "wait in milliseconds", status: 429, headers: map[string]string{"X-Amzn-Errortype": "ThrottlingException", "X-Amz-Retry-After": "15000"},
			body: `{"message":"Rate exceeded"}`, class: retry.RateLimited, wait: 15 * time.Second,
		},
		{name: "per day", status: 429, headers: named("ThrottlingException"), body: `{"message":"Too many tokens per day, please wait before trying again."}`, class: retry.QuotaExhausted},
		{name: "service quota", status: 400, headers: named("ServiceQuotaExceededException"), body: `{"message":"Your request exceeds the service quota for your account."}`, class: retry.QuotaExhausted},
		{name: "model not ready", status: 429, headers: named("ModelNotReadyException"), body: `{"message":"Model is not ready for inference. Wait and try your request again."}`, class: retry.Overloaded},
		{name: "unavailable", status: 503, headers: named("ServiceUnavailableException"), body: `{"message":"Bedrock is unable to process your request."}`, class: retry.Overloaded},
		{name: "access denied", status: 403, headers: named("AccessDeniedException"), body: `{"message":"You don't have access to the model with the specified model ID."}`, class: retry.Auth},
		{name: "input too long", status: 400, headers: named("ValidationException"), body: `{"message":"Input is too long for requested model."}`, class: retry.Fatal},
		{name: "internal", status: 500, headers: named("InternalServerException"), body: `{"message":"Unexpected error"}`, class: retry.Transient},
	})
}
