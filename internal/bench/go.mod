module github.com/holdoff-go/holdoff/internal/bench

go 1.26.0

require (
	github.com/holdoff-go/holdoff v0.0.0
	go.uber.org/goleak v1.3.0
)

require (
	golang.org/x/sync v0.25.0
	golang.org/x/time v0.16.0 // indirect
)

replace github.com/holdoff-go/holdoff => ../..
