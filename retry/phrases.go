package retry

// A phraseKind says what a phrase in an error's words means.
type phraseKind uint8

const (
	noPhrase          phraseKind = iota // words that must not be read as one of the others
	stopPhrase                          // a plan, a balance, a hard limit
	fundsPhrase                         // as stopPhrase, but only in an answer: others have balances too
	allowancePhrase                     // an allowance of a day or more is used up, if the answer is a refusal
	billingPhrase                       // OpenAI's sentence about plan and billing, which Google sends with throttles too
	periodPhrase                        // so many a day or a month
	windowPhrase                        // a window whose length tells a throttle from a plan
	throttlePhrase                      //
	capacityPhrase                      //
	scarcePhrase                        // as capacityPhrase, but only in an answer: others run short too
	unavailablePhrase                   // as capacityPhrase, and the heading of every proxy's page
	fatalPhrase                         //
	authPhrase                          //
	lockPhrase                          //
	transientPhrase                     //
	canceledPhrase                      //
	phraseKinds
)

// phraseList holds what providers, SDKs and command lines say. A phrase starts at
// the start of a word; '*' stands for at most 48 bytes of the same sentence, '|'
// at the end for the end of a word, and '!' at the end says that the phrase counts
// only near a word such as "reached" or "exceeded", '?' that it counts only where it
// is said of a service, or alone. They are matched against
// text in lower case in which "-", "_" and the humps of CamelCase are spaces, so
// that one phrase reads rate_limit_exceeded, rate-limited and RateLimitError.
// Where two phrases start with the same word, the first that fits counts.
var phraseList = []struct {
	kind    phraseKind
	phrases []string
}{
	{noPhrase, []string{
		"not your usage limit", "overloaded function", "overloaded method", "overloaded operator", "overloaded constructor", "overloaded member",
		"approaching", "check quota", "out of memory", "run out of memory", "ran out of memory", "too many connections in", "message authentication failed", "retry quota exceeded", "quota value", "quota field", "quota parameter", "quota setting", "throttled function", "throttled callback", "resource temporarily unavailable", "quota project", "no credits were", "no credits are charged", "user is locked", "account is locked",
	}},
	{canceledPhrase, []string{"would exceed context deadline"}},
	{fatalPhrase, []string{
		"disk quota exceeded", "space exceeded", "larger than max", "exceeds limiter's burst",
		"maximum context length", "context length", "context window", "exceed context limit", "context limit|", "prompt is too long", "input is too long", "input length*exceed", "too long for",
		"token count*exceeds", "maximum number of tokens", "maximum number of bytes", "reduce the length", "request too large", "request entity too large", "payload too large",
		"content management policy", "content policy", "content filter", "violates*policy", "violate our", "been flagged", "was flagged", "flagged by", "flagged as", "safety system", "blocked: candidate", "blocked: prompt", "blocked: response",
		"stopped after*redirects", "no such host", "failed host lookup", "hostname could not be found", "unsupported protocol scheme", "x509:", "certificate signed by", "certificate has expired", "certificate is valid for", "self signed certificate", "certificate verify failed", "unable to verify the first certificate", "unable to get local issuer certificate", "ssl certificate problem", "does not match certificate", "invalid peer certificate", "pkix path building failed", "valid certification path", "getaddrinfo enotfound", "unknown host exception", "name or service not known", "nodename nor servname",
		"model not found", "unknown model", "unknown parameter", "server gave http response to https client", "region, or territory not supported",
	}},
	{lockPhrase, []string{"disruption budget", "lock timeout", "is locked", "deadlock detected", "deadlock found", "deadlock victim", "could not serialize access", "serialization failure", "lock was not available", "lock wait timeout", "could not obtain lock", "unable to obtain exclusive access", "error acquiring the state lock", "write conflict", "sqlstate 40001", "sqlstate 40p01", "sqlstate 55p03"}},
	{billingPhrase, []string{"exceeded your current quota", "check your plan and billing"}},
	{throttlePhrase, []string{
		"error code: 1015", "rate limit hit|", "ip banned until", "abuse detection mechanism", "complexity budget!", "request weight used", "rate limit quota", "rate quota", "minute quota", "second quota", "rpm quota", "tpm quota", "qps quota", "enqueued token limit", "rate limit!", "rate limits!", "rate limiting!", "ratelimit!", "rate limited", "ratelimited", "ratelimiterror", "ratelimitexceeded", "rate limit you", "rate limit error", "rate limit reached error", "rate exceeded", "rate of requests*exceed",
		"hit your*rate limit", "hit the*rate limit", "hit a*rate limit", "reached your*rate limit", "reached the*rate limit", "exceeded your*rate limit", "exceed your*rate limit",
		"too many requests", "toomanyrequests", "too many tokens, please", "too many tokens processed", "too many concurrent", "requests too frequent", "too frequent", "frequency limit", "submitted too quickly", "requests too quickly", "requests too fast", "requesting too fast", "too many attempts*later", "flood wait", "request limit reached", "resource is limited", "spike arrest", "due to*flow control", "bandwidth exhausted", "resource (current value", "throughput*exceeded",
		"throttled?", "throttling exception", "throttling error", "throttling:", "please slow down", "slow down your", "limiting requests", "reduce your request rate", "reduce the frequency", "request rate*exceed", "request rate*too",
		"per hour limit!", "max rpm", "max tpm", "qps!", "qps request limit", "max concurrency", "max concurrent request", "concurrency limit!", "concurrent request!", "concurrent session!", "limit of concurrent", "calls / minute", "calls per minute", "requests per minute!", "requests per second!", "tokens per minute!", "requests / minute",
		"resource has been exhausted", "resource exhausted", "enhance your calm", "no deployments available", "secondary rate limit", "call rate limit", "hit the quota of*per",
		"zu viele anfragen", "te veel verzoeken", "zbyt wiele żąda", "ok fazla istek", "quá nhiều yêu cầu", "trop de requ", "demasiadas solicitudes", "demasiadas peticiones", "muitas solicita", "troppe richieste",
	}},
	{windowPhrase, []string{"exhausted your capacity", "quota will reset", "limit will reset"}},
	{periodPhrase, []string{
		"calls / month", "calls per month", "calls / day", "calls per day", "requests / month", "requests per month", "requests / day", "requests per day", "models per day", "tokens per day", "too many tokens per day",
		"tokens per month", "messages per day", "messages / day", "messages per week", "requests per week",
	}},
	{stopPhrase, []string{
		"insufficient balance", "insufficient account balance", "insufficient quota", "insufficient credit", "insufficient fund", "not enough credit", "credit limit!", "not enough balance", "not enough funds", "lacks credit", "out of credit", "no credits", "no remaining credit",
		"credit balance is", "credit balance too", "credit balance of 0", "credits exhausted", "credits have been used", "credits have been exhausted", "credits error", "available credits!", "included credits!", "requires more credits", "purchase more credits", "buy more credits", "add more credits", "usage credits are required", "credits are required", "balance is too low", "balance exhausted", "negative balance", "please recharge", "top up",
		"can only afford", "payment required", "past due", "unpaid invoice", "past invoices", "billing hard limit", "billing account*disabled", "billing not active", "enable billing", "billing details!", "account is not active", "account*suspended", "account*in arrears", "billing cycle!", "free quota used", "free tier*has been exhausted", "free tier*is exhausted", "free tier*been used up",
		"hit your*limit", "hit*usage limit", "reached your*usage limit", "reached your*session limit", "reached your*weekly limit", "reached your*monthly limit", "reached your*daily limit", "reached your*spend", "reached your*plan limit", "usage limit!", "usage limits!", "usage cap!", "out of extra usage", "free usage!", "you are out of*messages", "account has run out of", "lfs budget", "request allowance!", "reached*limit of*credits", "hit*limit of*credits", "sending limit!", "extra usage is required", "long context requests",
		"daily limit!", "daily request limit!", "daily request quota!", "daily request*exceeded", "daily request*reached", "daily call*exceeded", "daily call*reached", "monthly request*exceeded", "monthly request*reached", "monthly call*exceeded", "monthly call*reached", "monthly request limit!", "will exceed your*limit", "weekly limit!", "weekly rate limit!", "monthly rate limit!", "monthly limit!", "hourly limit!", "session limit!", "plan limit!", "key limit!", "hour limit!", "5 hour limit!", "weekly/monthly limit!", "spend limit!", "spending limit!", "spending cap!", "spending limit or", "account limit reached", "account limit exceeded", "reached*account limit", "exceeded*account limit", "service limit!", "service limits!", "as you go limit!", "monthly cap!", "free tier limit!", "trial limit!",
		"daily quota!", "weekly quota!", "monthly quota!", "individual quota!", "plan quota!", "service quota!", "quota limit!", "quotas!", "quota!", "cannot exceed quota", "vcpu limit", "vcpu capacity than", "budget has been exceeded", "budget exceeded", "exceeded your*budget", "exceeded token budget", "exceeded budget:", "upgrade to plus", "upgrade to pro",
		"solde insuffisant", "saldo insuficiente", "guthaben reicht nicht", "guthaben*aufgebraucht", "kontingent*aufgebraucht", "dits insuffisants", "kontingent ersch",
	}},
	{fundsPhrase, []string{"balance is insufficient", "balance is not enough", "balance is negative", "credits are depleted", "credits are exhausted", "credits depleted", "credits have been depleted", "have any credit", "has no credit", "credits have run out", "credits ran out", "enough api tokens", "max budget for", "balance is 0", "balance is $0", "add funds", "add more funds", "enough credit", "maximum credits", "credits exceeded", "credits too low", "credit too low", "allowance!"}},
	{allowancePhrase, []string{
		"run out of", "ran out of", "of your plan!", "current month!", "this month!", "for the month!", "current billing period!", "current day!", "for the day!", "today!", "daily!", "weekly!", "monthly!",
	}},
	{capacityPhrase, []string{
		"overloaded?", "at capacity", "out of capacity", "out of host capacity", "enough resources available", "no capacity", "no available capacity", "no available instance", "no available machine", "no available server", "no available node", "no available worker", "is loading the dataset", "insufficient capacity", "not have sufficient capacity", "not enough capacity", "capacity exceeded", "capacity is exceeded", "high demand", "high traffic", "heavy traffic", "peak load", "heavy load", "high load", "under load",
		"currently loading", "model is loading", "still loading", "not ready for inference", "not ready yet", "model is not ready", "no longer any instances", "no instances*available", "no gpus available", "no available gpu", "server busy", "server is busy", "servers are busy", "busy right now", "service is busy", "system is busy", "engine is busy", "model busy", "model is busy", "too busy",
		"maximum pending requests", "queue is full", "too many clients", "max number of clients", "maximum connections exceeded", "maximum number of clients", "max clients reached", "too many connections?", "connection slots are reserved", "sqlstate 53300", "surcharg", "sobrecargado", "berlastet",
	}},
	{scarcePhrase, []string{"maximum capacity", "full capacity", "enough resources", "insufficient resources", "no resources available", "not have the resources", "out of stock", "sold out", "understocked"}},
	{unavailablePhrase, []string{"temporarily unable", "temporarily unavailable", "service unavailable", "temporairement indisponible", "temporalmente no disponible"}},
	{authPhrase, []string{
		"invalid api key", "incorrect api key", "invalid x api key", "api key not valid", "api key is invalid", "api key*expired", "no api key", "no authentication information", "no authentication method", "no authentication provided", "missing api key", "api key*required", "invalid*authentication", "authentication failed", "authentication required", "authentication is currently not", "not authenticated",
		"unauthorized", "please run /login", "please log in", "please login", "not logged in", "login required", "token has expired", "token expired", "oauth token*expired", "access token*expired", "security token*expired", "token has been revoked", "token is invalid", "invalid api token", "invalid access token", "access token invalid", "invalid bearer", "unauthenticated:", "invalid credential", "bad credentials", "has been expired or revoked", "expired or revoked", "authentication error", "session*expired", "failed to refresh cached credentials", "refresh token*expired", "credentials*expired",
		"unable to locate credentials", "could not load credentials", "default credentials were not found", "could not find default credentials", "no valid credential", "no credentials", "reauthentication failed", "reauthentication is required", "please run az login", "please run 'az login", "gcloud auth login", "gh auth login", "aws sso login", "az login", "no credential providers", "account has been locked", "account has been disabled", "account is disabled", "account has been deactivated",
		"not have permission", "permission denied (publickey", "access denied for user", "anmeldung fehlgeschlagen", "not accessible by integration", "not accessible by personal", "not accessible by this", "invalid subscription key", "must have admin rights", "oauth authentication", "requires a quota project", "access to the resource is denied",
	}},
	{transientPhrase, []string{
		"failed to get rate limit token", // the AWS SDK's own bucket of retries
		"connection reset", "connection refused", "connection to*was refused", "leader changed", "etcdserver: no leader", "database system is starting", "database system is shutting", "database system is in recovery", "connection closed", "connection timed out", "connection error", "connection aborted", "connection was forcibly closed", "connection lost", "connection terminated", "connection broken", "connection dropped", "connection unexpectedly closed", "closed the connection", "closed network connection", "closed connection", "client connection lost", "lost connection", "broken pipe", "unexpected eof", "i/o timeout", "tls handshake timeout", "request timed out", "request timeout", "read timed out", "timed out waiting", "timed out while", "idle timeout", "gateway timeout", "operation timed out",
		"deadline exceeded", "stream disconnected", "stream closed", "stream error", "stream terminated", "server had an error", "internal server error", "bad gateway", "network is unreachable", "network error", "no route to host", "temporary failure in name resolution", "server misbehaving", "socket hang up", "fetch failed",
		"econnreset", "econnaborted", "epipe", "ehostunreach", "enetunreach", "enetdown", "could not resolve host", "unable to resolve host", "all connection attempts failed", "connection failed", "connection was lost", "actively refused", "failed to respond", "stream was reset", "payload is not completed", "timeout error", "pool timeout", "net::read timeout", "net::err connection", "net::err timed out", "net::err network", "net::err internet", "net::open timeout", "etimedout", "econnrefused", "eai again", "server sent goaway", "remote end closed", "error reading from server", "upstream connect error", "could not be completed at this time", "provider returned error", "server closed idle connection", "http2: client", "use of closed network connection", "awaiting headers", "client.timeout", "request was canceled due to", "timeout of*exceeded", "timeout awaiting", "waiting for connection", "no recent network activity", "error sending request", "other side closed", "connect timeout error", "headers timeout error", "body timeout error", "und err socket", "und err connect", "und err headers", "und err body",
		"server disconnected", "url: eof|", "eof occurred", "peer closed connection", "incomplete chunked read", "premature close", "prematurely closed", "ended prematurely", "early eof", "transfer closed with", "reading a body from connection", "empty reply from server", "recv failure", "send failure", "timeout was reached", "connect timed out", "unexpected end of stream", "unexpected end of file from server", "received no bytes", "goaway received", "server has gone away", "failed to establish a new connection", "failed to connect to", "could not connect to", "unable to connect to", "cannot connect to", "couldn't connect to", "connection could not be established", "an error occurred while sending the request", "failed to open tcp connection", "execution expired", "sqlstate 08", "sqlstate 57p0", "overloaded or not",
	}},
}
