package retry

import "strings"

// A codeKind says what a machine-readable code of a provider means, and how much
// it weighs against other evidence.
type codeKind uint8

const (
	noCode        codeKind = iota
	stopCode               // a plan, a balance, a hard limit: decides
	softStopCode           // insufficient_quota, which some use for a throttle
	capacityCode           // the provider is full
	fatalCode              // this request can never pass: decides
	lockCode               // a conflict that passes, though it may come as a 429
	throttleCode           // a window is full; a stop phrase overrides it
	authCode               // the credential
	transientCode          // the server's own fault; the status overrides it
	badCode                // the request is bad, as OpenAI's invalid_request_error says of everything
	canceledCode
	exhaustedCode // RESOURCE_EXHAUSTED, which may mean any limit
	crowdedCode   // TooManyRequests, which only says the status 429 in words
	missingCode   // UNAVAILABLE: overloaded in HTTP, transient in gRPC
)

// exactCodes are the codes that the patterns below would read wrongly, or not at
// all. Keys are plain: lower case, letters and digits alone. Where they come from
// more than one place, the place that is named is the one they are read for.
var exactCodes = map[string]codeKind{
	// OpenAI, and Codex behind ChatGPT
	"insufficientquota":                 softStopCode,
	"usagenotincluded":                  stopCode,
	"unsupportedcountryregionterritory": fatalCode,
	"unknownparameter":                  fatalCode,
	"ratelimitexceeded":                 throttleCode,
	"tokenslimitreached":                fatalCode, // of one request, in GitHub Models
	"tokenlimitexceeded":                noCode,    // of a prompt on a 400, of the batches in line on a 429
	"modelnotfound":                     fatalCode,

	// Anthropic
	"overloadederror": capacityCode,
	"ratelimiterror":  throttleCode,
	"apierror":        transientCode,

	// Google
	"resourceexhausted":            exhaustedCode,
	"unavailable":                  missingCode,
	"insufficientg1creditsbalance": stopCode,
	"quotaexhausted":               stopCode,
	"cancelled":                    canceledCode,
	"canceled":                     canceledCode,
	"internal":                     transientCode,
	"deadlineexceeded":             transientCode,
	"aborted":                      transientCode,
	"unknown":                      noCode,
	"dataloss":                     transientCode,
	"failedprecondition":           badCode,
	"outofrange":                   badCode,
	"servicedisabled":              authCode,
	"overquerylimit":               throttleCode,
	"requestdenied":                authCode,
	"unknownerror":                 transientCode,

	// AWS
	"requestlimitexceeded":           throttleCode,
	"bandwidthlimitexceeded":         throttleCode,
	"priorrequestnotcomplete":        throttleCode,
	"servicequotaexceededexception":  stopCode,
	"serviceunavailableexception":    capacityCode,
	"serviceunavailable":             capacityCode,
	"insufficientinstancecapacity":   capacityCode,
	"skunotavailable":                capacityCode, // Azure's
	"modelnotreadyexception":         capacityCode,
	"modeltimeoutexception":          transientCode,
	"modelerrorexception":            transientCode,
	"modelstreamerrorexception":      transientCode,
	"transactioninprogressexception": lockCode,
	"requesttimeout":                 transientCode,
	"unrecognizedclientexception":    authCode,
	"signaturedoesnotmatch":          authCode,
	"expiredtoken":                   authCode,
	"optinrequired":                  authCode,

	// Cerebras counts tokens per minute under this name
	"tokenquotaexceeded":   throttleCode,
	"requestquotaexceeded": throttleCode,

	// Moonshot
	"exceededcurrentquotaerror": stopCode,

	// of many
	"toomanyrequests":          crowdedCode,
	"toomanyrequestserror":     crowdedCode,
	"toomanyrequestsexception": crowdedCode,

	// OpenRouter
	"openrouterinflightbudget": throttleCode,

	// Fireworks, HuggingFace, Groq, Stripe, Slack, Kubernetes, Hetzner, Kraken, Salesforce
	"preconditionfailed": noCode,
	"overloaded":         capacityCode,
	"busy":               capacityCode,
	"invalidkey":         authCode,
	"invalidsignature":   authCode,
	"locktimeout":        lockCode,
	"notauthed":          authCode,
	"accountinactive":    authCode,
	"disruptionbudget":   lockCode,
	"locked":             lockCode,
	"unabletolockrow":    lockCode,
	"servertimeout":      transientCode,
	"conflict":           noCode,

	// MiniMax's base_resp
	"baseresp1000": transientCode, "baseresp1001": transientCode, "baseresp1013": transientCode, "baseresp1024": transientCode, "baseresp1033": transientCode,
	"baseresp1002": throttleCode, "baseresp1039": throttleCode, "baseresp1041": throttleCode,
	"baseresp1004": authCode, "baseresp2049": authCode,
	"baseresp1008": stopCode, "baseresp2056": stopCode,
	"baseresp1026": fatalCode, "baseresp1027": fatalCode, "baseresp1042": fatalCode, "baseresp2013": fatalCode,

	// Meta, whose calls of an app, a user, a page and a custom limit are refused with 400
	"oauthexception4": throttleCode, "oauthexception17": throttleCode, "oauthexception32": throttleCode, "oauthexception613": throttleCode,
	"oauthexception80000": throttleCode, "oauthexception80001": throttleCode, "oauthexception80002": throttleCode, "oauthexception80003": throttleCode, "oauthexception80004": throttleCode, "oauthexception80005": throttleCode, "oauthexception80006": throttleCode, "oauthexception80007": throttleCode, "oauthexception80008": throttleCode, "oauthexception80009": throttleCode, "oauthexception80014": throttleCode,
	"oauthexception102": authCode, "oauthexception190": authCode,

	// Numbers, which count as countsNumber says: Mistral, Z.ai, Cloudflare, Twilio,
	// Lark, PostgreSQL
	"1300": throttleCode, "3505": capacityCode,
	"1302": throttleCode, "1303": throttleCode, "1305": capacityCode, "1312": capacityCode,
	"1304": stopCode, "1308": stopCode, "1309": stopCode, "1310": stopCode, "1112": stopCode, "1113": stopCode,
	"1015": throttleCode, "3040": capacityCode, "4006": stopCode,
	"20429": throttleCode, "99991400": throttleCode,
	"53300": capacityCode, "40001": lockCode, "40p01": lockCode, "55p03": lockCode,
	"08000": transientCode, "08001": transientCode, "08003": transientCode, "08006": transientCode, "57p01": transientCode, "57p02": transientCode, "57p03": transientCode,
}

// codePatterns read the codes nobody has listed, by what their names are made of.
// The first that fits decides.
var codePatterns = []struct {
	kind  codeKind
	parts []string
}{
	{stopCode, []string{
		"insufficientbalance", "insufficientcredit", "insufficientfund", "insufficientquota", "outofcredit", "nocredit", "creditserror", "creditbalance", "creditexhausted", "creditsexhausted", "balanceexhausted",
		"spendlimit", "spendinglimit", "billing", "budgetexceeded", "usagelimit", "usagecap", "dailylimit", "weeklylimit", "monthlylimit", "weeklyrate", "monthlyrate", "dailyrate",
		"quotaexceeded", "quotaexhausted", "exceededquota", "exceededcurrentquota", "servicequota", "arrearage", "overdue", "pastdue", "paymentrequired", "freequota", "freetieronly", "freetierexhausted", "planlimit", "trialexpired", "subscriptionexpired", "packexhausted", "packageexhausted", "balancenotenough", "notenoughbalance", "inarrears",
	}},
	{throttleCode, []string{
		"ratelimit", "ratelimited", "rateexceeded", "throttl", "toomanyrequest", "toomanytokens", "complexitybudget", "requestlimit", "requestrate", "concurren", "throughputexceeded", "slowdownerror", "requestsperminute", "tokensperminute", "flood", "qpslimit", "rpmlimit", "tpmlimit", "flowlimit", "flowcontrol", "frequencylimit",
	}},
	{fatalCode, []string{
		"contextlength", "contextwindow", "costexceeded", "complexityexceeded", "toocomplex", "contentfilter", "contentpolicy", "contentmoderation", "moderation", "safety", "toolarge", "toolong", "sizelimit", "lengthexceeded", "maxtokens", "unsupportedcountry", "unsupportedregion",
	}},
	{capacityCode, []string{
		"overload", "capacity", "notready", "serverbusy", "enginebusy", "serviceunavailable", "temporarilyunavailable", "resourceunavailable", "noinstances", "outofstock", "soldout", "poolexhausted", "allocationfailed", "resourceinsufficient", "insufficientresource", "queueexceeded", "queuefull",
	}},
	{stopCode, []string{"limitexceeded", "limitreached", "resourcelimit", "maximumreached", "countexceeded"}},
	{authCode, []string{
		"apikey", "authfail", "authentication", "authorization", "unauthorized", "unauthenticated", "notauthenticated", "permission", "accessdenied", "forbidden", "expiredtoken", "tokenexpired", "invalidtoken", "tokeninvalid", "invalidauth",
		"invalidclienttoken", "invalidgrant", "revoked", "credential",
	}},
	{transientCode, []string{"servererror", "internalerror", "internalfailure", "internalserver", "timeout", "timedout", "badgateway", "connectionerror", "networkerror", "upstreamerror"}},
	{badCode, []string{"invalid", "badrequest", "validation", "malformed", "unsupported", "notfound", "nosuch", "unimplemented", "notimplemented", "alreadyexists", "notallowed", "missingparameter"}},
}

// ownLimits are what a program meets limits of in itself, which are nobody's plan.
var ownLimits = [...]string{"depth", "recursion", "memorylimit", "stacklimit", "heap", "timelimit"}

// kindOf returns what a code means. Three codes mean different things in
// different spellings: S3's SlowDown is a throttle and OpenAI's slow_down an
// overload, Scaleway shouts its throttle, and DashScope's names have dots.
func kindOf(code string) codeKind {
	switch {
	case code == "SlowDown", code == "INSUFFICIENT QUOTA", strings.HasPrefix(code, "Throttling."):
		return throttleCode
	case code == "slow_down":
		return capacityCode
	}
	var buf [80]byte
	plain := plainCode(buf[:0], code)
	if kind, ok := exactCodes[string(plain)]; ok {
		return kind
	}
	if i := strings.IndexByte(code, ':'); i > 0 && len(code) < 64 { // a group before the name, as in Kraken's EService:Busy
		var room [64]byte
		if kind, ok := exactCodes[string(plainCode(room[:0], code[i:]))]; ok {
			return kind
		}
	}
	if len(plain) < 4 || plain[0] >= '0' && plain[0] <= '9' || strings.Count(code, " ") > 3 {
		return noCode // a number or a sentence
	}
	name := string(plain)
	own := containsAny(name, ownLimits[:])
	if strings.HasSuffix(name, "notfound") || strings.HasSuffix(name, "alreadyexists") {
		return badCode // whatever it is of
	}
	wrong := strings.HasPrefix(name, "invalid")
	for _, p := range codePatterns {
		if wrong && p.kind != authCode && p.kind != badCode || own && p.kind == stopCode {
			continue
		}
		for _, part := range p.parts {
			if strings.Contains(name, part) {
				return p.kind
			}
		}
	}
	return noCode
}

// plainCode appends code's letters and digits in lower case to b, as far as they go.
func plainCode(b []byte, code string) []byte {
	for i := 0; i < len(code) && len(b) < cap(b); i++ {
		switch c := code[i]; {
		case c >= 'A' && c <= 'Z':
			b = append(b, c+'a'-'A')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b = append(b, c)
		}
	}
	return b
}
