// Package ledgertest is the conformance suite of [fleet.Ledger]: what a guard
// relies on, and any ledger must therefore pass. It uses the standard library
// alone.
//
//	func TestLedger(t *testing.T) {
//		ledgertest.Run(t, func(t *testing.T) ledgertest.Store {
//			path := filepath.Join(t.TempDir(), "fleet.db")
//			return ledgertest.Store{Ledger: open(t, path), Reopen: func() fleet.Ledger { return open(t, path) }}
//		})
//	}
package ledgertest
