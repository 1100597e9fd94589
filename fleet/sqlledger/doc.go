// Package sqlledger keeps a fleet's ledger in a SQLite file, so that a restart
// or a crash changes no answer and no key launches twice. The driver is pure Go.
//
//	ledger, err := sqlledger.Open(ctx, "/var/lib/fleet/fleet.db")
//	if err != nil {
//		return err
//	}
//	defer ledger.Close()
//	guard, err := fleet.New(fleet.Config{Ledger: ledger, …})
//
// Several processes of one host may open the same file; their guards act as one.
// A file on a network file system is not for SQLite.
//
// The file can be read with any SQLite tool while it is in use: the tables
// reservations and decisions hold what the guard knows, a row each.
//
// Every transaction is durable when it returns, against the loss of power too,
// which costs one flush of the disk. A launch is two of them. A transaction costs
// the same however many instances live, and some 10 µs more for each launch in the
// rate window when it reads them, as a decision does: see BenchmarkLaunch.
package sqlledger
