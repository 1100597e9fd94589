package when

import "time"

const day = 24 * time.Hour

// units are the units of time by their names, in English and in the languages in
// which providers answer a caller that asks for them.
var units = map[string]time.Duration{
	"ns": time.Nanosecond, "nanosecond": time.Nanosecond, "nanoseconds": time.Nanosecond,
	"us": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond, "microsecond": time.Microsecond, "microseconds": time.Microsecond,
	"ms": time.Millisecond, "msec": time.Millisecond, "msecs": time.Millisecond, "millis": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": day, "day": day, "days": day,
	"w": 7 * day, "wk": 7 * day, "wks": 7 * day, "week": 7 * day, "weeks": 7 * day,
	"month": 30 * day, "months": 30 * day,

	"sekunde": time.Second, "sekunden": time.Second, "minuten": time.Minute, "stunde": time.Hour, "stunden": time.Hour, "tag": day, "tage": day, "tagen": day,
	"seconde": time.Second, "secondes": time.Second, "heure": time.Hour, "heures": time.Hour, "jour": day, "jours": day,
	"segundo": time.Second, "segundos": time.Second, "minuto": time.Minute, "minutos": time.Minute, "hora": time.Hour, "horas": time.Hour, "día": day, "días": day, "dia": day, "dias": day,
	"secondi": time.Second, "minuti": time.Minute, "ore": time.Hour, "giorni": day,
}

// unitSigns are the units of languages that put no space behind them.
var unitSigns = [...]struct {
	sign string
	unit time.Duration
}{
	{"毫秒", time.Millisecond}, {"ミリ秒", time.Millisecond}, {"秒", time.Second}, {"초", time.Second},
	{"分钟", time.Minute}, {"分鐘", time.Minute}, {"分", time.Minute}, {"분", time.Minute},
	{"小时", time.Hour}, {"小時", time.Hour}, {"个小时", time.Hour}, {"時間", time.Hour}, {"시간", time.Hour},
	{"天", day}, {"日", day}, {"일", day},
}
