package when

import (
	"math"
	"testing"
	"time"
	_ "time/tzdata" // named zones, on hosts that have none

	"github.com/stretchr/testify/require"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

const none = time.Duration(-1)

func requireWait(t *testing.T, want, got time.Duration, ok bool) {
	t.Helper()
	if want == none {
		require.False(t, ok, "got %v", got)
		return
	}
	require.True(t, ok)
	require.Equal(t, want, got)
}

func TestRetryAfter(t *testing.T) {
	cases := map[string]time.Duration{
		"120":                              120 * time.Second,
		" 120 ":                            120 * time.Second,
		"0":                                0,
		"2.5":                              2500 * time.Millisecond,
		"30s":                              30 * time.Second,
		"1m30s":                            90 * time.Second,
		"Mon, 30 Nov 2026 12:02:00 GMT":    120 * time.Second,
		"Monday, 30-Nov-26 12:02:00 GMT":   120 * time.Second,
		"Mon Nov 30 12:02:00 2026":         120 * time.Second,
		"2026-11-30T12:02:00Z":             120 * time.Second,
		"2026-11-30T13:02:00.5+01:00":      seconds(120.5),
		"Mon, 30 Nov 2026 11:00:00 GMT":    0,
		"1796040059":                       59 * time.Second,
		"9999999999":                       Forever,
		"99999999999999999999999999999999": Forever,
		"":                                 none,
		"-5":                               none,
		"+3":                               none,
		"NaN":                              none,
		"inf":                              none,
		"Infinity":                         none,
		"1e3":                              none,
		"0x10":                             none,
		"soon":                             none,
		"1,5":                              none,
		".":                                none,
		"5 apples":                         none,
		"Mon, 99 Nov 2026 12:02:00 GMT":    none,
		"120, 60":                          none,
		"2026-11-30":                       none,
	}
	for value, want := range cases {
		t.Run(value, func(t *testing.T) {
			got, ok := RetryAfter(value, now, time.Time{})
			requireWait(t, want, got, ok)
		})
	}
}

func TestD9_SecondsNeverOverflow(t *testing.T) {
	for _, value := range []string{"9223372037", "9223372036854775807"} {
		d, ok := RetryAfter(value, now, time.Time{})
		require.True(t, ok)
		require.Equal(t, Forever, d)
	}
	for _, n := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
		_, ok := Units(n, time.Second)
		require.False(t, ok)
	}
}

func TestRetryAfter_CountsFromTheAnswersDate(t *testing.T) {
	date := Date("Mon, 30 Nov 2026 11:50:00 GMT")
	d, ok := RetryAfter("Mon, 30 Nov 2026 11:50:30 GMT", now, date)
	requireWait(t, 30*time.Second, d, ok)
	require.True(t, Date("yesterday").IsZero())
}

func TestD12_EpochDeltaSecondsMilliseconds(t *testing.T) {
	at := time.Unix(1785224566, 0)
	for _, value := range []string{"1785228000", "1785228000000", "1785228000000000", "1785228000000000000", "3434"} {
		d, ok := Reset(value, at)
		requireWait(t, 3434*time.Second, d.Round(time.Second), ok)
	}
	for _, value := range []string{"1785224000", "1785224000000", "2026-01-01T00:00:00Z"} {
		_, ok := Reset(value, at)
		require.False(t, ok, "what lies in the past is no hint: %s", value)
	}
}

func TestReset(t *testing.T) {
	cases := map[string]time.Duration{
		"59":                        59 * time.Second,
		"12.3":                      seconds(12.3),
		"6m0s":                      6 * time.Minute,
		"2m59.56s":                  seconds(179.56),
		"120ms":                     120 * time.Millisecond,
		"1.2s":                      1200 * time.Millisecond,
		"1796040059":                59 * time.Second,
		"2026-11-30T12:01:00Z":      time.Minute,
		"2026-11-30T17:31:00+05:30": time.Minute,
		"Mon Nov 30 2026 12:02:00 GMT+0000 (Coordinated Universal Time)": 2 * time.Minute,
		"Mon, 30 Nov 2026 12:02:00 GMT":                                  2 * time.Minute,
		"":                                                               none,
		"2026-11-30T12:05Z":                                              5 * time.Minute,
		"2026-11-30T13:05+01:00":                                         5 * time.Minute,
		"2026-11-30T12:05:00+0000":                                       5 * time.Minute,
		"2026-11-30 12:05:00 UTC":                                        5 * time.Minute,
		"2026-11-30 12:05:00 +0000 UTC":                                  5 * time.Minute,
		"2026-Nov-30 12:05:00+0000 UTC":                                  5 * time.Minute,
		"Mon, 30 Nov 2026 12:05:00 UTC":                                  5 * time.Minute,
		"2026-11-30 12:05:00 PST":                                        none,
		"00:01:30":                                                       90 * time.Second,
		"-1":                                                             none,
		"never":                                                          none,
	}
	for value, want := range cases {
		t.Run(value, func(t *testing.T) {
			got, ok := Reset(value, now)
			requireWait(t, want, got, ok)
		})
	}
}

func TestInstant(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"1796043600": time.Hour, "1796043600000": time.Hour, "2026-11-30T13:00:00Z": time.Hour,
		"1796036400": 0, "60": none, "": none,
	} {
		got, ok := Instant(value, now)
		requireWait(t, want, got, ok)
	}
	d, ok := Milliseconds("1250.5")
	requireWait(t, 1250500*time.Microsecond, d, ok)
	_, ok = Milliseconds("-1")
	require.False(t, ok)
}

func TestSpan(t *testing.T) {
	cases := map[string]time.Duration{
		"20ms":                         20 * time.Millisecond,
		"7m12.5s. Visit":               seconds(432.5),
		"17h58m27s":                    17*time.Hour + 58*time.Minute + 27*time.Second,
		"4 days 20 hours 9 minutes.":   4*day + 20*time.Hour + 9*time.Minute,
		"6hr 29min":                    6*time.Hour + 29*time.Minute,
		"'17' seconds.":                17 * time.Second,
		"1 day, 2 hours and 3 minutes": day + 2*time.Hour + 3*time.Minute,
		"16 days. To continue":         16 * day,
		"157h":                         157 * time.Hour,
		"an hour":                      time.Hour,
		"a minute":                     time.Minute,
		"2 weeks":                      14 * day,
		"60-second window":             time.Minute,
		"30 秒":                         30 * time.Second,
		"36.429760048s":                36429760048,
		"00:01:30":                     90 * time.Second,
		"00:00:00.0340000":             34 * time.Millisecond,
		"1.02:03:04":                   day + 2*time.Hour + 3*time.Minute + 4*time.Second,
		"PT1M30S.":                     90 * time.Second,
		"PT. Then":                     none,
		"36:00:00.":                    36 * time.Hour,
		"10:30:00 UTC":                 none,
		"10:30:00 PM":                  none,
		"10:61:00":                     none,
		"10:30":                        none,
		"12:34:56:78":                  none,
		"30 Sekunden":                  30 * time.Second,
		"2 heures et":                  2 * time.Hour,
		"3 días":                       3 * day,
		"1 分 30 秒":                     90 * time.Second,
		"2時間":                          2 * time.Hour,
		"30초":                          30 * time.Second,
		"99999999999999999999 hours":   Forever,
		"3 times":                      none,
		"5":                            none,
		"a few minutes":                none,
		"5 sandwiches":                 none,
	}
	for text, want := range cases {
		t.Run(text, func(t *testing.T) {
			got, _, ok := Span(text)
			requireWait(t, want, got, ok)
		})
	}
}

func TestAt(t *testing.T) {
	berlin := time.Date(2026, 11, 30, 13, 0, 0, 0, time.FixedZone("", 3600))
	cases := []struct {
		text string
		now  time.Time
		want time.Duration
	}{
		{"3pm (America/New_York)", now, 8 * time.Hour},
		{"3:20am (Asia/Shanghai)", now, 7*time.Hour + 20*time.Minute},
		{"3pm", now, 3 * time.Hour},
		{"3pm", berlin, 2 * time.Hour},
		{"12pm", now, day},
		{"12am", now, 12 * time.Hour},
		{"noon", now, day},
		{"midnight UTC", now, 12 * time.Hour},
		{"midnight Pacific time", now, 20 * time.Hour},
		{"3 p.m. ET", now, 8 * time.Hour},
		{"11:00 PM PST", now, 19 * time.Hour},
		{"10:57 PM GMT-3", now, 13*time.Hour + 57*time.Minute},
		{"17:00 UTC", now, 5 * time.Hour},
		{"17:00 UTC+8", now, 21 * time.Hour},
		{"17:00 +05:30", now, 23*time.Hour + 30*time.Minute},
		{"11:59", now, day - time.Minute},
		{"Dec 4, 8pm (Europe/Budapest)", now, 4*day + 7*time.Hour},
		{"Dec 4, 9am", berlin, 3*day + 20*time.Hour},
		{"Dec 4th, 2026 3:05 PM", now, 4*day + 3*time.Hour + 5*time.Minute},
		{"December 4, 2026 at 3:05 PM UTC", now, 4*day + 3*time.Hour + 5*time.Minute},
		{"4 Dec 2026 15:05", now, 4*day + 3*time.Hour + 5*time.Minute},
		{"Friday, December 4, 2026 at 12:00 PM", now, 4 * day},
		{"Feb 4, 8pm (Europe/Budapest)", now, 66*day + 7*time.Hour},
		{"Nov 30, 11am", now, 0},
		{"2026-12-01 at 00:00 UTC", now, 12 * time.Hour},
		{"2026-11-30 21:31:39", now, 9*time.Hour + 31*time.Minute + 39*time.Second},
		{"2026-11-30T15:00:00Z (2056)", now, 3 * time.Hour},
		{"2026-11-30T15:00:00.123456+00:00.", now, 3 * time.Hour},
		{"2026-12-01", now, 12 * time.Hour},
		{"2020-01-01 00:00", now, 0},
		{"tomorrow at 9am", now, 21 * time.Hour},
		{"tomorrow", now, 12 * time.Hour},
		{"Monday at 9:00", now, 6*day + 21*time.Hour},
		{"Tue 9:00 AM", now, 21 * time.Hour},
		{"1796043600", now, time.Hour},
		{"today", now, none},
		{"3pm (Mars/Olympus)", now, none},
		{"5", now, none},
		{"25:00", now, none},
		{"13pm", now, none},
		{"Feb 30, 9am", now, none},
		{"May I ask", now, none},
		{"a while", now, none},
		{"", now, none},
	}
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			got, ok := At(c.text, c.now, nil)
			requireWait(t, c.want, got, ok)
		})
	}
}

func TestInText(t *testing.T) {
	cases := map[string]time.Duration{
		"Please try again in 20ms. Visit us.":                                  20 * time.Millisecond,
		"Please retry after 26 seconds.":                                       26 * time.Second,
		"please try again after '17' seconds.":                                 17 * time.Second,
		"You've hit your usage limit. Try again in 4 days 20 hours 9 minutes.": 4*day + 20*time.Hour + 9*time.Minute,
		"Claude AI usage limit reached|1796036400":                             0,
		"Claude AI usage limit reached|1796043600":                             time.Hour,
		"5-hour limit reached ∙ resets 3pm":                                    3 * time.Hour,
		"Access resets at 10:57 PM GMT-3.":                                     13*time.Hour + 57*time.Minute,
		"You will regain access on 2026-12-01 at 00:00 UTC.":                   12 * time.Hour,
		"Free quota used (30 requests / 5h). Resets at 17:00 UTC. Top up":      5 * time.Hour,
		"[rate reset in 9m59s]":                                                9*time.Minute + 59*time.Second,
		"Please wait 2 minutes before trying again":                            2 * time.Minute,
		"您的限额将在 2026-11-30 21:31:39 重置。":                                       9*time.Hour + 31*time.Minute + 39*time.Second,
		"请求过于频繁,请 30 秒后重试":                                                     30 * time.Second,
		"請求過於頻繁,請 30 秒後再試":                                                     30 * time.Second,
		"请在 1 分 30 秒之后重试":                                                      90 * time.Second,
		"20秒後にもう一度お試しください。":                                                    20 * time.Second,
		"2分30秒お待ちください":                                                         150 * time.Second,
		"30초 후에 다시 시도하세요":                                                      30 * time.Second,
		"请等待 45 秒":                                                             45 * time.Second,
		"每 60 秒最多 100 次":                                                       none,
		"1分間に60回まで":                                                            none,
		"Bitte versuchen Sie es in 30 Sekunden erneut.":                        30 * time.Second,
		"Veuillez réessayer dans 30 secondes.":                                 30 * time.Second,
		"Inténtalo de nuevo en 2 minutos":                                      2 * time.Minute,
		"Try again in 00:01:30.":                                               90 * time.Second,
		"Quota will be replenished in 12:34:56.":                               12*time.Hour + 34*time.Minute + 56*time.Second,
		"Retry after (seconds): 30":                                            30 * time.Second,
		"retry your request in 10 seconds":                                     10 * time.Second,
		"A wait of 17 seconds is required":                                     17 * time.Second,
		"Please wait 1.00:00:05":                                               day + 5*time.Second,
		"retry after 00:00:02.5":                                               2500 * time.Millisecond,
		"try again in 4:59":                                                    4*time.Minute + 59*time.Second,
		"try again in 1:30 hours":                                              90 * time.Minute,
		"FLOOD_WAIT_37":                                                        37 * time.Second,
		"420: FLOOD_PREMIUM_WAIT_5 (caused by x)":                              5 * time.Second,
		"SLOWMODE_WAIT_30.":                                                    30 * time.Second,
		"MAX_WAIT_30 is set":                                                   none,
		"FLOOD_WAIT_X":                                                         none,
		"try again after 13:30:00 UTC":                                         90 * time.Minute,
		"try again at 13:30:00":                                                90 * time.Minute,
		"resets 13:30:00":                                                      90 * time.Minute,
		"until 13:30":                                                          90 * time.Minute,
		"Error=16500, RetryAfterMs=34, Details=x":                              34 * time.Millisecond,
		"x-ms-retry-after-ms: 8":                                               8 * time.Millisecond,
		"retry_after_ms: 1500}":                                                1500 * time.Millisecond,
		"2500 api requests per 5 minutes period":                               none,
		"Too Many Requests: retry after 14":                                    14 * time.Second,
		"Retry-After: 30\nX: y":                                                30 * time.Second,
		"retry_after=7":                                                        7 * time.Second,
		"retry after 3 attempts":                                               none,
		"try again after 1,000 others":                                         none,
		"we are open at 3pm":                                                   none,
		"try again later":                                                      none,
		"Failed after 3 attempts in 12 seconds":                                none,
		"use the | operator 1796043600":                                        none,
		"exceeded the limit of 12000 for time interval '01:00:00'":             none,
	}
	for text, want := range cases {
		t.Run(text, func(t *testing.T) {
			got, evidence, ok := InText(text, now, nil)
			requireWait(t, want, got, ok)
			require.Equal(t, ok, evidence != "")
		})
	}
}

func TestInText_NaiveZone(t *testing.T) {
	d, _, ok := InText("Your limit will reset at 2026-11-30 21:31:39", now, time.FixedZone("", 8*3600))
	requireWait(t, 91*time.Minute+39*time.Second, d, ok)
}

func FuzzInText(f *testing.F) {
	f.Add("Please try again in 7m12.5s.")
	f.Add("resets Dec 4, 8pm (Europe/Budapest)")
	f.Add("reset at 2026-11-30 21:31:39+08:00")
	f.Add("try again at 3 p.m. GMT-3")
	f.Add("limit reached|1796036400")
	f.Add("请在 2026-11-30 21:31:39 后重试")
	f.Fuzz(func(t *testing.T, text string) {
		d, _, ok := InText(text, now, nil)
		require.GreaterOrEqual(t, d, time.Duration(0))
		again, _, okAgain := InText(text, now, nil)
		require.Equal(t, d, again)
		require.Equal(t, ok, okAgain)
	})
}

func FuzzHeaders(f *testing.F) {
	for _, value := range []string{"120", "2.5", "6m0s", "Mon, 30 Nov 2026 12:02:00 GMT", "1796040059000", "-5", "1e400"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, read := range []func() (time.Duration, bool){
			func() (time.Duration, bool) { return RetryAfter(value, now, time.Time{}) },
			func() (time.Duration, bool) { return Reset(value, now) },
			func() (time.Duration, bool) { return Instant(value, now) },
			func() (time.Duration, bool) { return Milliseconds(value) },
		} {
			d, _ := read()
			require.GreaterOrEqual(t, d, time.Duration(0))
		}
	})
}
