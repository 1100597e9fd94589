package sqlledger_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
	childFrom = "SQLLEDGER_TEST_FROM" // the key to begin with
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

// said is what the child prints of each decision: what a caller has been told.
type said struct {
	Key     string
	Code    fleet.Code
	Granted int
	IDs     []fleet.ReservationID
}

func told(d fleet.Decision) said {
	s := said{Key: d.Key, Code: d.Code, Granted: d.Granted}
	for _, r := range d.Reservations {
		s.IDs = append(s.IDs, r.ID)
	}
	return s
}

// child is the process that dies. Its role says where; "anywhere" is killed
// from outside.
func child(role string) int {
	dir := os.Getenv(childDir)
	ledger, err := sqlledger.Open(context.Background(), filepath.Join(dir, "fleet.db"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if role == "anywhere" {
		return endless(ledger, vendor{filepath.Join(dir, "vendor")})
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

// endless launches batches, key after key, and ends most machines to make room.
func endless(ledger fleet.Ledger, v vendor) int {
	cfg := base(ledger, nil)
	cfg.Window = fleet.Window{}
	cfg.ResolveDeadline = time.Hour // nothing of what a kill leaves open is given up meanwhile
	cfg.Caps = fleet.Caps{HourlyBudget: 1000 * fleet.Dollar, Instances: 400}
	g, err := fleet.New(cfg)
	if err != nil {
		return 1
	}
	ctx := context.Background()
	out := json.NewEncoder(os.Stdout)
	from, err := strconv.Atoi(os.Getenv(childFrom))
	if err != nil {
		return 1
	}
	for n := from; ; n++ {
		d, err := g.Launch(ctx, fleet.Request{Key: fmt.Sprintf("key %d", n), Count: 1 + n%3, MaxPrice: 45 * fleet.Cent}, v.create)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		if err := out.Encode(told(d)); err != nil {
			return 1
		}
		if n%8 != 0 {
			for _, r := range d.Reservations {
				if r.State != fleet.StateLoading {
					continue
				}
				if err := g.Settle(ctx, r.ID, fleet.Ended()); err != nil {
					fmt.Println(err)
					return 1
				}
			}
		}
	}
}

func command(t *testing.T, role, dir string, from int) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), childRole+"="+role, childDir+"="+dir, childFrom+"="+strconv.Itoa(from))
	return c
}

// lines reads what a child said until it died.
func lines(t *testing.T, out *bufio.Scanner) []said {
	t.Helper()
	var all []said
	for out.Scan() {
		var s said
		if err := json.Unmarshal(out.Bytes(), &s); err != nil {
			continue // the line it was killed in
		}
		all = append(all, s)
	}
	return all
}
