package retry

import (
	"time"

	"github.com/holdoff-go/holdoff/retry/internal/evidence"
	"github.com/holdoff-go/holdoff/retry/internal/when"
)

// longWindow is the wait from which words that only say "limited" are taken for a
// plan's window: throttles open within the hour.
const longWindow = time.Hour

// wait returns the wait that counts for an error of that class: the first of the
// sources in the order of trust that states one.
func (f *facts) wait(class Class) evidence.Wait {
	f.ReadHeader(f.Status == 429)
	for _, source := range [...]evidence.Source{evidence.Millis, evidence.RetryAfter} {
		if w := f.Waits[source]; w.Found {
			return w
		}
	}
	if class == QuotaExhausted {
		if w := f.PlanWait(); w.Found {
			return w
		}
	}
	if w := f.Waits[evidence.Body]; w.Found {
		return w
	}
	for _, text := range [...]string{f.Said(), f.Free()} {
		if d, from, ok := when.InText(text, f.Now, f.naiveZone()); ok {
			return evidence.Wait{For: d, From: "\"" + from + "\"", Found: true}
		}
	}
	return f.Waits[evidence.Buckets]
}

// beijing is the zone of Z.ai's times, which name none.
var beijing = time.FixedZone("UTC+8", 8*60*60)

// naiveZone returns the zone of times that name none; nil is the clock's own.
func (f *facts) naiveZone() *time.Location {
	switch f.codes[stopCode] {
	case "1304", "1308", "1309", "1310":
		return beijing
	}
	return nil
}
