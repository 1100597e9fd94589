package statuspage

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdoff-go/holdoff/retry"
)

// maxText bounds every text that comes from elsewhere, in bytes.
const maxText = 200

// line is what is shown of an error where the host does not say: of an HTTP
// answer the status alone, because its text has the start of the body.
func line(err error) string {
	var resp *retry.ResponseError
	if errors.As(err, &resp) {
		return strings.TrimSpace(fmt.Sprintf("status %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	}
	return scrub(err.Error())
}

// explain asks the host's function about err; the errors of SDKs panic too, when
// they are half filled.
func explain(f func(error) string, err error) (text string) {
	if err == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T", err)
		}
	}()
	return clip(f(err))
}

// scrub returns the first line of text up to what looks like a body, without
// what looks like a key. An SDK's error often is "429 Too Many Requests {…}", and
// a URL in an error may carry the key in its query.
func scrub(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if i := strings.IndexAny(text, "{<"); i >= 0 {
		if text = strings.TrimRight(text[:i], " :,=[("); text == "" {
			return "(a body, not shown)"
		}
	}
	// Before anything is searched; the longest match is cut off by clip.
	text = text[:min(len(text), 16*maxText)]
	text = urlSecret.ReplaceAllString(text, "$1…")
	text = userinfo.ReplaceAllString(text, "$1…@")
	text = labelled.ReplaceAllString(text, "$1…")
	text = prefixed.ReplaceAllString(text, "$1…")
	return random.ReplaceAllStringFunc(text, func(word string) string {
		if strings.ContainsFunc(word, unicode.IsDigit) && strings.ContainsFunc(word, unicode.IsLetter) {
			return "…"
		}
		return word
	})
}

var (
	// The query of a URL: Gemini's key, a signed URL's signature.
	urlSecret = regexp.MustCompile(`(\b[a-z][a-z0-9+.-]*://[^\s"'?]+\?)[^\s"']*`)
	userinfo  = regexp.MustCompile(`(\b[a-z][a-z0-9+.-]*://)[^\s"'/@]+@`)
	labelled  = regexp.MustCompile(`(?i)(\b(?:bearer|basic|(?:api[-_ ]?)?key(?: provided)?|x-api-key|token|secret|password|authorization)\b["']?\s*[:= ]\s*["']?)[^\s"',;]*[0-9*][^\s"',;]*`)
	prefixed  = regexp.MustCompile(`\b((?:sk|pk|rk|gh[a-z]|github_pat|xox[a-z]|glpat|hf|AIza|AKIA|ASIA|eyJ)[-_]?)[A-Za-z0-9_.*-]{8,}`)
	random    = regexp.MustCompile(`[A-Za-z0-9+]{16,}`) // no UUID, no model's name
)

// clip makes text one line of valid UTF-8, of maxText bytes at most.
func clip(text string) string {
	if len(text) > 4*maxText {
		text = text[:4*maxText]
	}
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "�"), func(r rune) bool {
		// Also what would turn the direction of the text around it.
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
	}), " ")
	if len(text) <= maxText {
		return text
	}
	end := maxText - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
