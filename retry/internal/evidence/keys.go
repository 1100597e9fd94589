package evidence

import "github.com/holdoff-go/holdoff/retry/internal/loosejson"

// A key is a member's name that means something in an error, whatever its
// spelling: retry_after, retryAfter and Retry-After are one.
type key uint8

const (
	noKey key = iota
	kAtType
	kBaseResp
	kBody
	kCause
	kCauses
	kChoices
	kCode
	kData
	kDescription
	kDetail
	kDetails
	kDocumentation
	kDomain
	kError
	kErrorCode
	kErrorDescription
	kErrorMessage
	kErrors
	kErrorType
	kEstimatedTime
	kExtensions
	kHeaders
	kID
	kInnerError
	kIsError
	kKind
	kLimitSource
	kMessage
	kMetadata
	kObject
	kParameters
	kOK
	kQuotaDimensions
	kQuotaID
	kQuotaLimit
	kQuotaLimitValue
	kQuotaResetDelay
	kQuotaValue
	kRateLimitInfo
	kRateLimitType
	kRaw
	kReason
	kResetsAt
	kResetsIn
	kResponse
	kResult
	kRetryAfter
	kRetryAfterMillis
	kRetryDelay
	kScope
	kStatus
	kStatusCode
	kStatusMessage
	kSubject
	kSuccess
	kTitle
	kType
	kViolations
	keys
)

// keyOf maps names, in lower case and without '_' and '-', to their key.
var keyOf = map[string]key{
	"@type":             kAtType,
	"baseresp":          kBaseResp,
	"body":              kBody,
	"responsebody":      kBody,
	"cause":             kCause,
	"causes":            kCauses,
	"choices":           kChoices,
	"code":              kCode,
	"data":              kData,
	"description":       kDescription,
	"detail":            kDetail,
	"details":           kDetails,
	"documentationurl":  kDocumentation,
	"domain":            kDomain,
	"error":             kError,
	"errorcode":         kErrorCode,
	"retcode":           kErrorCode,
	"errcode":           kErrorCode,
	"errordescription":  kErrorDescription,
	"errormessage":      kErrorMessage,
	"errmsg":            kErrorMessage,
	"retmsg":            kErrorMessage,
	"errormsg":          kErrorMessage,
	"errors":            kErrors,
	"errortype":         kErrorType,
	"estimatedtime":     kEstimatedTime,
	"extensions":        kExtensions,
	"headers":           kHeaders,
	"responseheaders":   kHeaders,
	"httpcode":          kStatusCode,
	"httpstatus":        kStatusCode,
	"httpstatuscode":    kStatusCode,
	"id":                kID,
	"innererror":        kInnerError,
	"iserror":           kIsError,
	"kind":              kKind,
	"limitsource":       kLimitSource,
	"message":           kMessage,
	"metadata":          kMetadata,
	"msg":               kMessage,
	"nextaccesstime":    kResetsAt,
	"object":            kObject,
	"ok":                kOK,
	"parameters":        kParameters,
	"quotadimensions":   kQuotaDimensions,
	"quotaid":           kQuotaID,
	"quotalimit":        kQuotaLimit,
	"quotalimitvalue":   kQuotaLimitValue,
	"quotaresetdelay":   kQuotaResetDelay,
	"quotavalue":        kQuotaValue,
	"ratelimitinfo":     kRateLimitInfo,
	"ratelimittype":     kRateLimitType,
	"raw":               kRaw,
	"reason":            kReason,
	"resetat":           kResetsAt,
	"resetsat":          kResetsAt,
	"resettime":         kResetsAt,
	"resetafter":        kResetsIn,
	"resetsinseconds":   kResetsIn,
	"resetinseconds":    kResetsIn,
	"resetseconds":      kResetsIn,
	"response":          kResponse,
	"result":            kResult,
	"retryafter":        kRetryAfter,
	"retryafterms":      kRetryAfterMillis,
	"retryaftersec":     kRetryAfter,
	"retryaftersecs":    kRetryAfter,
	"retryinseconds":    kRetryAfter,
	"retryaftermillis":  kRetryAfterMillis,
	"retryafterseconds": kRetryAfter,
	"retryin":           kRetryAfter,
	"retrydelay":        kRetryDelay,
	"scope":             kScope,
	"status":            kStatus,
	"statuscode":        kStatusCode,
	"statusmsg":         kStatusMessage,
	"statusmessage":     kStatusMessage,
	"subject":           kSubject,
	"success":           kSuccess,
	"title":             kTitle,
	"type":              kType,
	"violations":        kViolations,
}

// members are an object's members that have a key. The first of a key counts;
// they are read in a fixed order, never in the object's.
type members [keys]loosejson.Value

func (m *members) read(v loosejson.Value) {
	v.Members(func(name string, value loosejson.Value) {
		k := keyNamed(name)
		if k != noKey && m[k].Kind() <= loosejson.Null {
			m[k] = value
		}
	})
}

func keyNamed(name string) key {
	var plain [20]byte
	n := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_' || c == '-':
			continue
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		if n == len(plain) {
			return noKey
		}
		plain[n] = c
		n++
	}
	return keyOf[string(plain[:n])]
}
