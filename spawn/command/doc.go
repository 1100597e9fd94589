// Package command runs a command, such as the CLI of an agent, as one attempt of
// a worker:
//
//	agent := command.Runner{Record: command.JSON}
//	w := spawn.Worker{ID: "docs", Run: func(ctx context.Context, a *spawn.Attempt) error {
//		out, err := agent.Run(ctx, exec.Command("agent", "exec", "--json", prompt))
//		if err != nil {
//			return err
//		}
//		return save(out)
//	}}
//
// # The contract
//
// How a command says that it was refused, in the order in which it is looked at:
//
//  1. By an error record in its machine-readable output, whatever the exit code:
//     many agents end cleanly after a 429. Runner.Record finds it.
//  2. By exit code 75, retry.ExitTryLater: refused, try later. Nothing need be
//     written.
//  3. By what it wrote to standard error, if it did not exit with 0.
//
// What is on standard output otherwise is the work's own words. It is never
// searched: an agent that writes about rate limits has not met one.
//
// All of that is in a *retry.ProcessError, and retry.Standard reads it; the
// spawner needs no classifier of its own.
//
// # The end
//
// A command runs in a process group of its own. When the context ends, the group
// is asked to end by SIGTERM, and what is left of it after Runner.Grace is killed.
// Where there are no process groups, as on Windows, the process alone is killed.
// A command that had ended by then ends as it did, although others of its group
// still held its pipes.
//
// Processes that outlive the command and hold its pipes are waited for no longer
// than Runner.Grace, and then left alone. A command whose own output could not be
// passed on in that time has failed, whatever its exit code: an error record may
// have been in the rest.
package command
