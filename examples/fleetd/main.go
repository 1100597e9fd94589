// Fleetd replays the evening on which a fleet of GPU machines died and its launch
// rate window kept it dead, and serves a guard over HTTP.
//
//	go run .                                    the replay, in virtual time
//	go run . -listen localhost:8080 -db f.db    the guard, for curl
//	go run . -db f.db -kill "the bill"          the kill switch, from another shell
//	go run . -db f.db -lift                     and off again
//
// While it listens:
//
//	curl -i localhost:8080/launch -H 'Idempotency-Key: 1' -d '{"count":4,"max_price":"0.45","reason":"queue is long"}'
//	curl -s localhost:8080/status
//
// The vendor is simulated; its machines live as long as the ledger holds them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/holdoff-go/holdoff/examples/internal/cli"
	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/fleet/sqlledger"
)

func main() { cli.Main("fleetd", run) }

// options are the command line.
type options struct {
	listen, db, kill string
	lift             bool
	demand           fleet.Demand
	boot             time.Duration
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := cli.Flags("fleetd", "Without flags it replays the evening on which a fleet died. With -listen it serves the guard, and with -kill or -lift it sets the kill switch of one.")
	flags.StringVar(&o.listen, "listen", "", "serve the guard at this `address`, such as localhost:8080")
	flags.StringVar(&o.db, "db", "fleet.db", "the ledger's `file`")
	flags.StringVar(&o.kill, "kill", "", "set the kill switch, for this `reason`")
	flags.BoolVar(&o.lift, "lift", false, "lift the kill switch")
	flags.IntVar(&o.demand.Pending, "pending", 0, "how many items wait, as the signals say")
	flags.IntVar(&o.demand.Target, "target", 0, "how many instances are needed, as the signals say; 0 is not known")
	flags.DurationVar(&o.boot, "boot", time.Minute, "how long a simulated machine boots")
	given, err := cli.Parse(flags, args, out)
	if err != nil {
		return err
	}
	switch {
	case given["kill"] && o.kill == "":
		return cli.Usagef("-kill has no reason: give one, or -lift the switch")
	case given["kill"] && o.lift, given["listen"] && (given["kill"] || o.lift):
		return cli.Usagef("-listen, -kill and -lift contradict each other: give one")
	case given["kill"] || o.lift:
		return kill(ctx, out, o)
	case given["listen"]:
		if err := cli.CheckAddress("listen", o.listen); err != nil {
			return err
		}
		listener, err := net.Listen("tcp", o.listen)
		if err != nil {
			return err
		}
		return serve(ctx, out, o, listener)
	case len(given) > 0:
		return cli.Usagef("the replay takes no flags: give -listen, -kill or -lift too")
	}
	return replay(ctx, out)
}

// kill writes the switch into the ledger, where a running fleetd finds it.
func kill(ctx context.Context, out io.Writer, o options) (err error) {
	ledger, err := sqlledger.Open(ctx, o.db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	guard, err := newGuard(ledger, nil)
	if err != nil {
		return err
	}
	if err := guard.Kill(ctx, o.kill); err != nil {
		return err
	}
	if o.kill == "" {
		fmt.Fprintln(out, "launches are allowed again")
		return nil
	}
	fmt.Fprintf(out, "nothing is launched any more: %s\n", o.kill)
	return nil
}

// newGuard returns the guard of the story: $10.00/hr, 20 instances, 3 launches
// in 15 minutes.
func newGuard(ledger fleet.Ledger, clock fleet.Clock, change ...func(*fleet.Config)) (*fleet.Guard, error) {
	cfg := fleet.Config{
		Caps:   fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
		Window: fleet.Window{Launches: 3, Per: 15 * time.Minute},
		Ledger: ledger,
		Clock:  clock,
	}
	for _, c := range change {
		c(&cfg)
	}
	return fleet.New(cfg)
}
