module github.com/holdoff-go/holdoff/examples/fleetd

go 1.26.0

require (
	github.com/holdoff-go/holdoff v0.0.0
	github.com/holdoff-go/holdoff/fleet/sqlledger v0.0.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	github.com/ncruces/go-sqlite3 v0.37.0 // indirect
	github.com/ncruces/go-sqlite3-wasm/v6 v6.5.35401 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/holdoff-go/holdoff => ../..

replace github.com/holdoff-go/holdoff/fleet/sqlledger => ../../fleet/sqlledger
