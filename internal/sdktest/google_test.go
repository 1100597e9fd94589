package sdktest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/holdoff-go/holdoff/retry"
)

const quotaSentence = "You exceeded your current quota, please check your plan and billing details."

func TestGenAI(t *testing.T) {
	testAnswers(t, func(ctx context.Context, t *testing.T, url string) error {
		c, err := genai.NewClient(ctx, &genai.ClientConfig{
			APIKey: "test", Backend: genai.BackendGeminiAPI, HTTPClient: client(t), HTTPOptions: genai.HTTPOptions{BaseURL: url},
		})
		require.NoError(t, err)
		_, err = c.Models.GenerateContent(ctx, "gemini-x", genai.Text("hi"), nil)
		return err
	}, []answer{
		{
			name: "per minute", status: 429,
			body: `{"error":{"code":429,"message":"` + quotaSentence + `","status":"RESOURCE_EXHAUSTED","details":[
				{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier","quotaValue":"10"}]},
				{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37s"}]}}`,
			class: retry.RateLimited, wait: 37 * time.Second, scope: retry.ScopeModel,
		},
		{
			name: "per day", status: 429,
			body: `{"error":{"code":429,"message":"` + quotaSentence + `","status":"RESOURCE_EXHAUSTED","details":[
				{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaValue":"20"}]},
				{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36s"}]}}`,
			class: retry.QuotaExhausted, scope: retry.ScopeModel,
		},
		{name: "no details", status: 429, body: `{"error":{"code":429,"message":"` + quotaSentence + `","status":"RESOURCE_EXHAUSTED"}}`, class: retry.RateLimited},
		{name: "overloaded", status: 503, body: `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`, class: retry.Overloaded},
		{
			name: "bad key", status: 400,
			body: `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[
				{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`,
			class: retry.Auth, scope: retry.ScopeKey,
		},
	})
}
