package sdktest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-github/v84/github"
	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/retry"
)

func TestGitHub(t *testing.T) {
	reset := fmt.Sprint(time.Now().Add(10 * time.Minute).Unix())
	primary := answer{
		name: "primary", status: 403, headers: map[string]string{"X-Ratelimit-Limit": "60", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": reset},
		body:  `{"message":"API rate limit exceeded for 203.0.113.9.","documentation_url":"https://docs.github.com/rest/overview/resources-in-the-rest-api#rate-limiting"}`,
		class: retry.RateLimited, wait: 10 * time.Minute, scope: retry.ScopeIP,
	}
	get := func(ctx context.Context, c *github.Client) error {
		_, _, err := c.Users.Get(ctx, "")
		return err
	}
	newClient := func(t *testing.T, url string) *github.Client {
		c, err := github.NewClient(client(t)).WithEnterpriseURLs(url, url)
		require.NoError(t, err)
		return c
	}
	testAnswers(t, func(ctx context.Context, t *testing.T, url string) error { return get(ctx, newClient(t, url)) }, []answer{
		primary,
		{
			name: "secondary", status: 403, headers: map[string]string{"Retry-After": "60", "X-Ratelimit-Remaining": "4988", "X-Ratelimit-Reset": reset},
			body:  `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`,
			class: retry.RateLimited, wait: time.Minute,
		},
		{
			name: "permission", status: 403, headers: map[string]string{"X-Ratelimit-Remaining": "4990", "X-Ratelimit-Reset": reset},
			body: `{"message":"Resource not accessible by integration","documentation_url":"https://docs.github.com/rest"}`, class: retry.Auth,
		},
		{name: "not found", status: 404, body: `{"message":"Not Found"}`, class: retry.Fatal},
		{name: "unavailable", status: 502, body: `{"message":"Server Error"}`, class: retry.Transient},
	})

	// After one refusal go-github answers later calls itself, with no headers.
	t.Run("blocked locally", func(t *testing.T) {
		c := newClient(t, serve(t, primary))
		require.Error(t, get(t.Context(), c))
		err := get(t.Context(), c)
		require.ErrorContains(t, err, "not making remote request")
		requireVerdict(t, answer{class: retry.RateLimited, wait: 10 * time.Minute}, err)
	})
}
