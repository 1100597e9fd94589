package ledgertest_test

import (
	"testing"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/fleet/ledgertest"
)

func TestMemory(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledgertest.Store {
		return ledgertest.Store{Ledger: fleet.NewMemory()}
	})
}
