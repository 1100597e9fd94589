// Package statuspage serves the state of limiters and spawners over HTTP: as a
// page that a person can leave open during an incident, and as JSON for tools.
//
// The page says of each limiter until when it is blocked and why, with a live
// countdown, and draws its budget over time; of each spawner it shows the roster
// with attempts, states and causes. It loads nothing from elsewhere, keeps to a
// strict Content-Security-Policy, and without JavaScript is the same tables,
// reloaded every few seconds.
//
//	page, err := statuspage.New(statuspage.Config{})
//	…
//	l, err := limiter.New(limiter.Config{Name: "openai", OnEvent: page.OnLimiterEvent})
//	…
//	s, err := spawn.New(spawn.Config{Limiter: l})
//	…
//	page.WatchLimiter(l)
//	page.WatchSpawner("agents", s)
//	http.Handle("/holdoff", page)
//
// # JSON
//
// "?format=json", or an Accept header that asks for application/json and not for
// text/html, gives the same as JSON:
//
//	{
//	  "time": "2026-03-01T12:00:00Z",
//	  "limiters": [{
//	    "status": {"name": "openai", "reason": "rate_limited", …},  // limiter.Status
//	    "history": [{"time": …, "budget": 16, "in_flight": 9, "paused": false}, …]
//	  }],
//	  "omitted_limiters": 0,
//	  "spawners": [{
//	    "name": "agents",
//	    "counts": {"running": 3, "backing_off": 1},
//	    "workers": [{"id": "w1", "state": "backing_off", "since": …, "attempt": 2,
//	      "until": …, "class": "rate_limited", "cause": "status 429 Too Many Requests"}],
//	    "omitted": 0
//	  }]
//	}
//
// Fields may be added.
//
// # What is shown, and to whom
//
// The page shows names, worker IDs, the words given to Hold, and a line of each
// worker's last error: bounded, without what looks like a body or a key, and
// escaped. It has no access control of its own: serve it where your metrics are
// served. It answers GET and HEAD alone, and reading changes nothing.
package statuspage
