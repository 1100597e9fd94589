package when

import "strings"

// A cueKind says how figures with colons behind a word are meant.
type cueKind uint8

const (
	noCue      cueKind = iota
	cueClock           // "resets 10:30:00" is a time of day
	cueSpan            // "wait 00:01:30" is a span
	cueMillis          // a span, and a number without a unit counts milliseconds
	cueSeconds         // the end of a name such as FLOOD_WAIT_37: digits alone, of seconds
)

// cues are the words behind which the end of the wait is told. The last are those
// of "versuchen Sie es in 30 Sekunden erneut", "réessayez dans 30 secondes",
// "inténtalo de nuevo en 30 segundos" and their kin.
var cues = map[string]cueKind{
	"reset": cueClock, "resets": cueClock, "resetting": cueClock, "again": cueClock, "until": cueClock, "access": cueClock,
	"renews": cueClock, "renew": cueClock, "renewed": cueClock, "refreshes": cueClock, "refreshed": cueClock, "refresh": cueClock,
	"replenished": cueClock, "replenishes": cueClock, "refilled": cueClock, "refills": cueClock, "restored": cueClock, "lifted": cueClock, "expires": cueClock,
	"available": cueClock, "allowed": cueClock, "resume": cueClock, "resumes": cueClock, "unlocks": cueClock, "unlocked": cueClock, "unblocked": cueClock, "banned": cueSpan,
	"retry": cueSpan, "wait": cueSpan, "retry_after": cueSpan, "retryafter": cueSpan, "retrydelay": cueSpan,
	"retry_after_ms": cueMillis, "retryafterms": cueMillis,

	"versuchen": cueClock, "versuche": cueClock, "erneut": cueClock, "warten": cueSpan,
	"essayez": cueClock, "essayer": cueClock, "patienter": cueSpan, "attendre": cueSpan,
	"nuevo": cueClock, "espere": cueSpan, "espera": cueSpan, "riprova": cueClock, "novamente": cueClock, "aguarde": cueSpan,
}

// cue looks at the word that starts at or after at, and returns its end.
func cue(text string, at int) (int, cueKind) {
	for at < len(text) && !isWordByte(text[at]) {
		at++
	}
	end := at
	for end < len(text) && isWordByte(text[end]) {
		end++
	}
	if isWaitName(text[at:end]) {
		return at + strings.LastIndexByte(text[at:end], '_') + 1, cueSeconds
	}
	var lower [14]byte
	if n := end - at; n == 0 || n > len(lower) {
		return end, noCue
	}
	for i := at; i < end; i++ {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i-at] = c
	}
	return end, cues[string(lower[:end-at])]
}

// isWaitName reports whether word is one of Telegram's names that end with the wait.
func isWaitName(word string) bool {
	name := strings.TrimRight(word, "0123456789")
	return len(name) < len(word) && strings.HasSuffix(name, "_WAIT_") && (strings.HasPrefix(name, "FLOOD_") || strings.HasPrefix(name, "SLOWMODE_"))
}

func isWordByte(b byte) bool {
	return b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' || b == '_' || b == '\''
}

// fillers may stand between the cue and the time, and may say themselves how it
// is meant: behind "at" 00:01:30 is a time of day, behind "in" a span.
var fillers = map[string]cueKind{
	"at": cueClock, "on": cueClock, "by": cueClock, "until": cueClock, "in": cueSpan, "after": cueSpan, "for": cueSpan, "within": cueSpan, "another": cueSpan, "least": cueSpan,
	"of": cueSpan, "is": noCue, "will": noCue, "be": noCue, "about": noCue, "approximately": noCue, "around": noCue, "again": noCue, "time": noCue, "roughly": noCue, "reset": noCue, "automatically": noCue, "your": noCue, "the": noCue, "this": noCue, "request": noCue,
	"es": noCue, "sie": noCue, "bitte": noCue, "dans": cueSpan, "en": cueSpan, "tra": cueSpan, "fra": cueSpan, "em": cueSpan,
}

// filler returns s without the words and signs that may stand before a time, and
// whether figures with colons are a span there.
func filler(s string, kind cueKind) (rest string, isSpan bool) {
	for range 6 {
		s = strings.TrimLeft(s, " \t:·∙~=\"'`-–—,(*")
		end := 0
		for end < len(s) && s[end]|0x20 >= 'a' && s[end]|0x20 <= 'z' {
			end++
		}
		said, ok := fillers[strings.ToLower(s[:end])]
		if end == 0 || !ok {
			break
		}
		if said != noCue {
			kind = said
		}
		s = s[end:]
	}
	return s, kind != cueClock
}
