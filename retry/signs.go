package retry

import "strings"

// signPhrases are what providers say in Chinese, Japanese and Korean, which have
// no spaces to find a word by, and in Russian, without the letter that may be a
// capital. They are searched as they stand; '*' is as in phraseList.
var signPhrases = []struct {
	kind    phraseKind
	phrases []string
}{
	{stopPhrase, []string{
		"余额不足", "餘額不足", "欠费", "使用上限", "额度已", "額度已", "额度不足", "配额已", "已用完", "已用尽", "已耗尽", "请充值", "套餐",
		"今日*上限", "当日*上限", "每日*上限", "每天*上限", "本月*上限", "当月*上限", "每月*上限", "今日*超", "每日*超", "本月*超",
		"利用上限", "本日の*上限", "今月の*上限", "残高不足", "残高が不足", "クレジットが不足", "잔액이 부족", "사용량 한도", "일일 한도",
		"едостаточно средств", "едостаточно кредитов", "вота исчерпана", "ревышена квота", "имит исчерпан",
	}},
	{throttlePhrase, []string{
		"过于频繁", "過於頻繁", "频率", "頻率", "速率限制", "限流", "流量限制", "流控", "并发数", "请求过多", "請求過多", "请求数过",
		"レート制限", "リクエストが多すぎ", "リクエスト数", "요청이 너무 많", "요청 한도",
		"лишком много запросов", "абагато запитів", "ревышен лимит запросов", "ревышена частота запросов",
	}},
	{capacityPhrase, []string{"过载", "過載", "繁忙", "负载过高", "访问量过大", "算力不足", "资源不足", "库存不足", "售罄", "過負荷", "混み合って", "混雑して", "과부하", "ервер перегружен", "одель перегружена", "ервис перегружен"}},
	{fatalPhrase, []string{"上下文长度", "超出最大长度", "敏感内容", "不安全"}},
	{authPhrase, []string{"密钥无效", "未授权", "鉴权失败", "身份验证", "令牌已过期", "APIキーが無効", "認証に失敗"}},
}

// signs looks for the first of signPhrases of each kind.
func (f *phrases) signs(text string) {
	for _, group := range signPhrases {
		for _, p := range group.phrases {
			if f[group.kind] == "" && hasSigns(text, p) {
				f[group.kind] = p
			}
		}
	}
}

// hasSigns reports whether the parts of a phrase stand in text, near one another.
func hasSigns(text, phrase string) bool {
	first, rest, more := strings.Cut(phrase, "*")
	at := strings.Index(text, first)
	if at < 0 || !more {
		return at >= 0
	}
	after := text[at+len(first):]
	return strings.Contains(after[:min(len(after), maxGap)], rest)
}
