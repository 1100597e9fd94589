package clienttest

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func genAI() client {
	part := func(s string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[{"text":"` + s + `"}]}}]}`
	}
	limited := func(details string) string {
		return `{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED","details":[` + details + `]}}`
	}
	violation := func(id string) string {
		return `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_requests","quotaId":"` + id + `"}]}`
	}
	return client{
		name: "genai",
		dialect: dialect{
			whole:      part(text),
			stream:     []string{"data: " + part("one ") + "\n\n", "data: " + part("two ") + "\n\n", "data: " + part("three ") + "\n\n", "data: " + part("four") + "\n\n"},
			refused:    limited(violation("GenerateRequestsPerMinutePerProjectPerModel-FreeTier")),
			refusedFor: limited(violation("GenerateRequestsPerMinutePerProjectPerModel-FreeTier") + `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0.150s"}`),
			exhausted:  limited(violation("GenerateRequestsPerDayPerProjectPerModel-FreeTier")),
			late:       "data: " + strings.ReplaceAll(`{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`, "\n", "") + "\n\n",
		},
		isSSE: func(r *http.Request) bool { return strings.Contains(r.URL.Path, "streamGenerateContent") },
		open: func(t *testing.T, baseURL string, hc *http.Client, _ bool) calls {
			// It does not retry unless HTTPOptions.RetryOptions is set.
			c, err := genai.NewClient(context.Background(), &genai.ClientConfig{
				APIKey: "key", Backend: genai.BackendGeminiAPI,
				HTTPClient: hc, HTTPOptions: genai.HTTPOptions{BaseURL: baseURL},
			})
			require.NoError(t, err)
			return calls{
				whole: func(ctx context.Context) (string, error) {
					got, err := c.Models.GenerateContent(ctx, "gemini-x", genai.Text("hello"), nil)
					if err != nil {
						return "", err
					}
					return got.Text(), nil
				},
				stream: func(ctx context.Context) (string, error) {
					var all strings.Builder
					for got, err := range c.Models.GenerateContentStream(ctx, "gemini-x", genai.Text("hello"), nil) {
						if err != nil {
							return all.String(), err
						}
						all.WriteString(got.Text())
					}
					return all.String(), nil
				},
			}
		},
	}
}
