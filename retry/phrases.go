package retry

// A phraseKind says what a phrase in an error's words means.
type phraseKind uint8

const (
	noPhrase        phraseKind = iota // words that must not be read as one of the others
	stopPhrase                        // a plan, a balance, a hard limit
	billingPhrase                     // OpenAI's sentence about plan and billing, which Google sends with throttles too
	periodPhrase                      // so many a day or a month
	windowPhrase                      // a window whose length tells a throttle from a plan
	throttlePhrase                    //
	capacityPhrase                    //
	fatalPhrase                       //
	authPhrase                        //
	lockPhrase                        //
	transientPhrase                   //
	canceledPhrase                    //
	phraseKinds
)

// phraseList holds what providers, SDKs and command lines say. A phrase starts at
// the start of a word; '*' stands for at most 48 bytes of the same sentence, '|'
// at the end for the end of a word, and '!' at the end says that the phrase counts
// only near a word such as "reached" or "exceeded". They are matched against
// text in lower case in which "-", "_" and the humps of CamelCase are spaces, so
// that one phrase reads rate_limit_exceeded, rate-limited and RateLimitError.
// Where two phrases start with the same word, the first that fits counts.
var phraseList = []struct {
	kind    phraseKind
	phrases []string
}{
	{noPhrase, []string{
		"not your usage limit", "overloaded function", "overloaded method", "overloaded operator", "overloaded constructor", "overloaded member",
		"approaching", "check quota", "message authentication failed", "retry quota exceeded", "throttled function", "throttled callback", "resource temporarily unavailable", "quota project",
	}},
	{canceledPhrase, []string{"would exceed context deadline"}},
	{fatalPhrase, []string{
		"disk quota exceeded", "space exceeded", "larger than max", "exceeds limiter's burst",
		"maximum context length", "context length", "context window", "exceed context limit", "context limit|", "prompt is too long", "input is too long", "input length*exceed", "too long for",
		"token count*exceeds", "maximum number of tokens", "maximum number of bytes", "reduce the length", "request too large", "request entity too large", "payload too large",
		"content management policy", "content policy", "content filter", "violates*policy", "violate our", "been flagged", "was flagged", "flagged by", "flagged as", "safety system",
		"stopped after*redirects", "no such host", "unsupported protocol scheme", "x509:", "certificate signed by", "certificate has expired", "certificate is valid for",
		"model not found", "unknown model", "unknown parameter", "server gave http response to https client", "region, or territory not supported",
	}},
	{lockPhrase, []string{"disruption budget", "lock timeout", "is locked", "deadlock detected", "could not serialize access", "lock was not available"}},
	{billingPhrase, []string{"exceeded your current quota", "check your plan and billing"}},
	{throttlePhrase, []string{
		"rate limit!", "rate limits!", "rate limited", "ratelimited", "ratelimiterror", "ratelimitexceeded", "rate limit you", "rate limit error", "rate limit reached error", "rate exceeded", "rate of requests*exceed",
		"hit your*rate limit", "hit the*rate limit", "hit a*rate limit", "reached your*rate limit", "reached the*rate limit", "exceeded your*rate limit", "exceed your*rate limit",
		"too many requests", "toomanyrequests", "too many tokens, please", "too many tokens processed", "too many concurrent", "requests too frequent", "too frequent", "frequency limit",
		"throttled", "throttling exception", "throttling error", "throttling:", "please slow down", "slow down your", "limiting requests", "reduce your request rate", "reduce the frequency", "request rate*exceed", "request rate*too",
		"max rpm", "max tpm", "qps!", "qps request limit", "max concurrency", "max concurrent request", "concurrency limit!", "concurrent request!", "concurrent session!", "limit of concurrent", "calls / minute", "calls per minute", "requests per minute!", "requests per second!", "tokens per minute!", "requests / minute",
		"resource has been exhausted", "resource exhausted", "enhance your calm", "no deployments available", "secondary rate limit", "call rate limit", "hit the quota of*per",
	}},
	{windowPhrase, []string{"exhausted your capacity", "quota will reset", "limit will reset"}},
	{periodPhrase, []string{
		"calls / month", "calls per month", "calls / day", "calls per day", "requests / month", "requests per month", "requests / day", "requests per day", "models per day", "tokens per day", "too many tokens per day",
		"tokens per month", "messages per day", "messages / day", "messages per week", "requests per week",
	}},
	{stopPhrase, []string{
		"insufficient balance", "insufficient account balance", "insufficient quota", "insufficient credit", "insufficient fund", "not enough credit", "not enough balance", "not enough funds", "lacks credit", "out of credit", "no credits", "no remaining credit",
		"credit balance is", "credit balance too", "credit balance of 0", "credits exhausted", "credits have been used", "credits have been exhausted", "credits error", "available credits!", "included credits!", "requires more credits", "purchase more credits", "buy more credits", "add more credits", "usage credits are required", "credits are required", "balance is too low", "balance exhausted", "negative balance", "please recharge", "top up",
		"can only afford", "payment required", "past due", "unpaid invoice", "past invoices", "billing hard limit", "billing account*disabled", "billing not active", "enable billing", "billing details!", "account is not active", "account*suspended", "account*in arrears", "billing cycle!", "free quota used",
		"hit your*limit", "hit*usage limit", "reached your*usage limit", "reached your*session limit", "reached your*weekly limit", "reached your*monthly limit", "reached your*daily limit", "reached your*spend", "reached your*plan limit", "usage limit!", "usage limits!", "usage cap!", "out of extra usage", "extra usage is required", "long context requests",
		"daily limit!", "daily request limit!", "monthly request limit!", "will exceed your*limit", "weekly limit!", "monthly limit!", "hourly limit!", "session limit!", "plan limit!", "key limit!", "hour limit!", "5 hour limit!", "weekly/monthly limit!", "spend limit!", "spending limit!", "spending cap!", "spending limit or", "monthly cap!", "free tier limit!", "trial limit!",
		"daily quota!", "weekly quota!", "monthly quota!", "individual quota!", "plan quota!", "service quota!", "quota limit!", "quotas!", "quota!", "cannot exceed quota", "vcpu limit", "vcpu capacity than", "budget has been exceeded", "budget exceeded", "exceeded your*budget", "upgrade to plus", "upgrade to pro",
	}},
	{capacityPhrase, []string{
		"overloaded", "at capacity", "out of capacity", "out of host capacity", "enough resources available", "no capacity", "insufficient capacity", "not have sufficient capacity", "not enough capacity", "capacity exceeded", "capacity is exceeded", "high demand", "peak load", "heavy load", "high load", "under load",
		"currently loading", "model is loading", "still loading", "not ready for inference", "not ready yet", "model is not ready", "no longer any instances", "no instances*available", "no gpus available", "no available gpu", "server busy", "server is busy", "service is busy", "system is busy", "engine is busy", "too busy",
		"maximum pending requests", "queue is full", "too many clients", "too many connections", "temporarily unable", "temporarily unavailable", "service unavailable",
	}},
	{authPhrase, []string{
		"invalid api key", "incorrect api key", "invalid x api key", "api key not valid", "api key is invalid", "api key*expired", "no api key", "missing api key", "api key*required", "invalid*authentication", "authentication failed", "authentication required", "authentication is currently not", "not authenticated",
		"unauthorized", "please run /login", "please log in", "please login", "not logged in", "login required", "token has expired", "token expired", "oauth token*expired", "access token*expired", "security token*expired", "token has been revoked", "token is invalid", "invalid bearer", "unauthenticated:", "invalid credential", "bad credentials",
		"not have permission", "not accessible by integration", "not accessible by personal", "not accessible by this", "invalid subscription key", "must have admin rights", "oauth authentication", "requires a quota project", "access to the resource is denied",
	}},
	{transientPhrase, []string{
		"failed to get rate limit token", // the AWS SDK's own bucket of retries
		"connection reset", "connection refused", "connection closed", "connection timed out", "connection error", "connection aborted", "connection was forcibly closed", "broken pipe", "unexpected eof", "i/o timeout", "tls handshake timeout", "request timed out", "request timeout", "read timed out", "timed out waiting", "timed out while", "idle timeout", "gateway timeout", "operation timed out",
		"deadline exceeded", "stream disconnected", "stream closed", "stream error", "stream terminated", "server had an error", "internal server error", "bad gateway", "network is unreachable", "network error", "no route to host", "temporary failure in name resolution", "server misbehaving", "socket hang up", "fetch failed",
		"econnreset", "could not resolve host", "etimedout", "econnrefused", "eai again", "server sent goaway", "remote end closed", "error reading from server", "upstream connect error", "could not be completed at this time", "provider returned error", "server closed idle connection", "overloaded or not",
	}},
}

// chinesePhrases are searched as they stand: the language has no spaces.
var chinesePhrases = []struct {
	kind    phraseKind
	phrases []string
}{
	{stopPhrase, []string{"余额不足", "欠费", "使用上限", "额度已", "额度不足", "配额已", "已用完", "请充值", "套餐"}},
	{throttlePhrase, []string{"过于频繁", "频率", "速率限制", "限流", "并发数", "请求过多", "请求数过"}},
	{capacityPhrase, []string{"过载", "繁忙", "负载过高", "访问量过大", "算力不足"}},
	{fatalPhrase, []string{"上下文长度", "超出最大长度", "敏感内容", "不安全"}},
	{authPhrase, []string{"密钥无效", "未授权", "鉴权失败", "身份验证", "令牌已过期"}},
}
