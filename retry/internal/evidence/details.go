package evidence

import (
	"strings"

	"github.com/holdoff-go/holdoff/retry/internal/loosejson"
	"github.com/holdoff-go/holdoff/retry/internal/when"
)

// details notes the members of Google's error details: RetryInfo, QuotaFailure,
// ErrorInfo, and Temporal's ResourceExhaustedFailure.
func (e *Evidence) details(m *members) {
	if m[kRetryDelay].Kind() != loosejson.Absent {
		e.Reset = true
	}
	e.detail("quotaId", m[kQuotaID].Text())
	e.detail("quota_limit", m[kQuotaLimit].Text())
	e.detail("quotaValue", m[kQuotaValue].Text())
	if m[kCause].Kind() == loosejson.String {
		e.Code(m[kCause].Text())
	}
	if scope := m[kScope].Text(); strings.Contains(strings.ToLower(scope), "namespace") {
		e.Scopes.Namespace = true
	}
	m[kViolations].Elements(maxItems, func(v loosejson.Value) {
		var violation members
		violation.read(v)
		e.violation(violation[kSubject].Text(), violation[kDescription].Text(), violation[kQuotaID].Text(), violation[kQuotaValue].Text())
		var dimensions dimensions
		dimensions.read(violation[kQuotaDimensions])
		e.Scopes.Model = e.Scopes.Model || dimensions.model
	})
}

type dimensions struct{ model bool }

func (d *dimensions) read(v loosejson.Value) {
	v.Members(func(name string, value loosejson.Value) {
		if name == "model" && value.Text() != "" {
			d.model = true
		}
	})
}

// violation notes one violated quota.
func (e *Evidence) violation(subject, description, quotaID, value string) {
	e.Envelope = true
	e.quota(quotaID)
	e.quota(description)
	if strings.HasPrefix(subject, "project") {
		e.Scopes.Project = true
	}
	if value == "0" {
		e.ZeroMax = true
	}
}

// detail notes one named value of a detail, and reports whether it is one.
func (e *Evidence) detail(name, value string) bool {
	if value == "" {
		return false
	}
	switch name {
	case "quotaId", "quota_id", "quota_limit", "quotaLimit":
		e.quota(value)
	case "quotaValue", "quota_value", "quota_limit_value":
		e.ZeroMax = e.ZeroMax || value == "0"
	case "retryDelay", "retry_delay", "quotaResetDelay":
		if d, ok := when.Reset(value, e.Now); ok {
			e.Reset = true
			e.State(Body, d, name)
		}
	case "quotaResetTimeStamp":
		if d, ok := when.Reset(value, e.Now); ok {
			e.State(Body, d, name)
		}
	case "reason":
		e.Code(value)
	case "model":
		e.Scopes.Model = true
	default:
		return false
	}
	return true
}

// quota notes the name of a violated quota, which tells its window and scope.
func (e *Evidence) quota(name string) {
	if name == "" || len(name) > 300 || len(e.Quotas) == maxItems {
		return
	}
	e.Quotas = append(e.Quotas, name)
	if strings.Contains(name, "PerModel") {
		e.Scopes.Model = true
	} else if strings.Contains(name, "PerProject") {
		e.Scopes.Project = true
	}
}
