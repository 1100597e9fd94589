package command_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdoff-go/holdoff/retry"
)

// roleOf names the variable by which this binary runs as a fake agent.
const roleOf = "HOLDOFF_FAKE_AGENT"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleOf); role != "" {
		os.Exit(fake(role))
	}
	goleak.VerifyTestMain(m)
}

// agent returns this binary as a command that plays a role.
func agent(role string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleOf+"="+role)
	return cmd
}

const (
	record429 = `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit"},"status":429}`
	chat      = "rate limit exceeded, HTTP 429"
)

// fake plays a role and returns its exit code.
func fake(role string) int {
	switch role {
	case "works":
		fmt.Println("the artefact")
		fmt.Fprintln(os.Stderr, "working")
	case "is refused":
		return retry.ExitTryLater
	case "hides a 429":
		fmt.Println(`{"type":"turn.started"}`)
		fmt.Println(record429)
	case "fails on a 429":
		fmt.Fprintln(os.Stderr, "API Error: 429 Too Many Requests")
		return 1
	case "talks":
		fmt.Println("the artefact: " + strings.Repeat(chat+"\n", 50))
	case "talks and fails":
		fmt.Println(strings.Repeat(chat+"\n", 50))
		return 1
	case "floods":
		for i := range 100_000 {
			fmt.Fprintf(os.Stderr, "line %d of the log\n", i)
		}
		return 1
	case "waits":
		ended := terminated() // before the test may ask for it
		ready()
		<-ended
		return 1
	case "ends well when asked":
		ended := terminated()
		ready()
		<-ended
		fmt.Println("half of it")
	case "does not listen":
		signal.Ignore(syscall.SIGTERM)
		ready()
		<-terminated(os.Interrupt)
	case "has a child", "has a child that does not listen", "leaves a child":
		return parent(role)
	default:
		fmt.Fprintln(os.Stderr, "no such role:", role)
		return 2
	}
	return 0
}

// parent starts a child that has all its pipes, and reports when that is ready.
func parent(role string) int {
	ended := terminated()
	child := agent("waits")
	if role == "has a child that does not listen" {
		child = agent("does not listen")
	}
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.ExtraFiles = []*os.File{os.NewFile(3, "alive")}
	if err := child.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if role == "leaves a child" {
		fmt.Println("the artefact")
		return 0
	}
	<-ended
	return 1
}

// ready tells the test, which reads the other end of descriptor 3. Whoever has it
// open is alive.
func ready() { fmt.Fprint(os.NewFile(3, "alive"), "ready\n") }

func terminated(s ...os.Signal) <-chan os.Signal {
	if s == nil {
		s = []os.Signal{syscall.SIGTERM}
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, s...)
	return c
}
