module github.com/holdoff-go/holdoff/examples/goroutines

go 1.26.0

require (
	github.com/holdoff-go/holdoff v0.0.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace github.com/holdoff-go/holdoff => ../..
