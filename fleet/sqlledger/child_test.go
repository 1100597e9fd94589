package sqlledger_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/fleet/sqlledger"
)

const (
	childRole = "SQLLEDGER_TEST_CHILD"
	childDir  = "SQLLEDGER_TEST_DIR"

	childFrom  = "SQLLEDGER_TEST_FROM"  // the step to begin with
	childAgain = "SQLLEDGER_TEST_AGAIN" // the steps whose keys are asked for again
)

// fixed is a clock that stands.
type fixed struct{ time.Time }

func (f fixed) Now() time.Time                     { return f.Time }
func (fixed) After(time.Duration) <-chan time.Time { return nil }

func at(clock string) time.Time {
	t, err := time.Parse(time.DateTime, "2026-03-10 "+clock)
	if err != nil {
		panic(err)
	}
	return t
}

// base is the scenarios' set-up.
func base(ledger fleet.Ledger, clock fleet.Clock) fleet.Config {
	return fleet.Config{
		Caps:   fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
		Window: fleet.Window{Launches: 3, Per: 15 * time.Minute},
		Ledger: ledger, Clock: clock,
	}
}

// vendor is a cloud that outlives the processes: a file to which each create
// call appends a line. It launches whatever it is asked, twice if asked twice.
type vendor struct{ path string }

func (v vendor) create(_ context.Context, r fleet.Reservation) (fleet.Instance, error) {
	f, err := os.OpenFile(v.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fleet.Instance{}, err
	}
	if _, err := fmt.Fprintln(f, r.ID); err != nil {
		return fleet.Instance{}, fmt.Errorf("%w: %w", err, fleet.ErrOutcomeUnknown)
	}
	return fleet.Instance{ID: "i-" + string(r.ID), Tag: r.ID}, f.Close()
}

// machines is what it launched, with the number of times.
func (v vendor) machines(t *testing.T) map[fleet.ReservationID]int {
	t.Helper()
	data, err := os.ReadFile(v.path)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	machines := map[fleet.ReservationID]int{}
	for line := range strings.Lines(string(data)) {
		machines[fleet.ReservationID(strings.TrimSpace(line))]++
	}
	return machines
}

// child is the process that dies. Its role says where; "anywhere" is killed
// from outside.
func child(role string) int {
	dir := os.Getenv(childDir)
	ledger, err := sqlledger.Open(context.Background(), filepath.Join(dir, "fleet.db"))
	if err == nil && role == "anywhere" {
		err = endless(ledger, vendor{filepath.Join(dir, "vendor")})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return once(role, ledger, vendor{filepath.Join(dir, "vendor")})
}

// once launches one machine at 18:30:11 and dies where role says.
func once(role string, ledger fleet.Ledger, v vendor) int {
	g, err := fleet.New(base(ledger, fixed{at("18:30:11")}))
	if err != nil {
		return 1
	}
	claim := fleet.Request{Key: "emergency", Count: 1, MaxPrice: 45 * fleet.Cent, Emergency: true}
	_, err = g.Launch(context.Background(), claim, func(ctx context.Context, r fleet.Reservation) (fleet.Instance, error) {
		if role == "before the vendor call" {
			os.Exit(0)
		}
		i, err := v.create(ctx, r)
		if role == "before the commit" {
			os.Exit(0)
		}
		return i, err
	})
	if err != nil {
		return 1
	}
	return 0 // after the commit
}

// endless asks for old keys once more, and goes on with its day where the one
// before it died. It prints a said of each.
func endless(ledger fleet.Ledger, v vendor) error {
	var from int
	var again []int
	if err := errors.Join(
		json.Unmarshal([]byte(os.Getenv(childFrom)), &from), json.Unmarshal([]byte(os.Getenv(childAgain)), &again),
	); err != nil {
		return err
	}
	y, err := newDay(ledger, v.create)
	if err != nil {
		return err
	}
	ctx := context.Background()
	out := json.NewEncoder(os.Stdout)
	y.clock.now = when(from)
	for _, n := range again {
		d, err := y.ask(ctx, n)
		s := said{Step: n, Again: true}
		s.told(n, d)
		if err := errors.Join(err, out.Encode(s)); err != nil {
			return err
		}
	}
	for n := from; ; n++ {
		s, d, err := y.step(ctx, n)
		if err != nil {
			return err
		}
		if err := out.Encode(s); err != nil {
			return err
		}
		if err := y.end(ctx, n, d); err != nil {
			return err
		}
	}
}

func command(t *testing.T, role, dir string, env ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), childRole+"="+role, childDir+"="+dir)
	c.Env = append(c.Env, env...)
	return c
}

// next reads what a child said next; ok is false when it died.
func next(out *bufio.Scanner) (s said, ok bool) {
	for out.Scan() {
		if json.Unmarshal(out.Bytes(), &s) == nil { // else the line it was killed in
			return s, true
		}
	}
	return said{}, false
}
