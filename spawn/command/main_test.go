package command_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdoff-go/holdoff/retry"
)

// roleOf names the variable by which this binary runs as a fake agent.
const roleOf = "HOLDOFF_FAKE_AGENT"

// parentOf names the variable by which a fake agent knows who started it.
const parentOf = "HOLDOFF_FAKE_PARENT"

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
	// The race detector would have each of them sleep for a second at its end.
	cmd.Env = append(os.Environ(), roleOf+"="+role, "GORACE=atexit_sleep_ms=0")
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
	case "says it twice":
		for range 400 {
			fmt.Println("out")
			fmt.Fprintln(os.Stderr, "err")
		}
	case "has a child", "has a child that does not listen":
		return parent(role)
	case "leaves a child":
		fmt.Println("the artefact")
		return leave("waits")
	case "leaves a child that knows", "fails and leaves a child that knows":
		fmt.Println("the artefact")
		if code := leave("waits when it is an orphan"); code != 0 || role == "leaves a child that knows" {
			return code
		}
		return 1
	case "waits when it is an orphan":
		return orphan()
	case "leaves a child that talks":
		// More than one read, and less than a pipe holds.
		fmt.Println(strings.Repeat("x", 40_000))
		fmt.Println(record429)
		return leave("talks on")
	case "talks on":
		for { // the pipe, once nobody reads it, ends this process
			fmt.Println(chat)
		}
	default:
		fmt.Fprintln(os.Stderr, "no such role:", role)
		return 2
	}
	return 0
}

// parent has a child, and waits as it does.
func parent(role string) int {
	ended := terminated()
	child := "waits"
	if role == "has a child that does not listen" {
		child = "does not listen"
	}
	if code := leave(child); code != 0 {
		return code
	}
	<-ended
	return 1
}

// leave starts a child that has all the pipes of this process, and reports when
// it is ready.
func leave(role string) int {
	child := agent(role)
	child.Env = append(child.Env, fmt.Sprintf("%s=%d", parentOf, os.Getpid()))
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.ExtraFiles = []*os.File{os.NewFile(3, "alive")}
	if err := child.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}

// orphan waits once its parent has ended and the test's process knows of that: a
// process is there until it has been waited for.
func orphan() int {
	pid, err := strconv.Atoi(os.Getenv(parentOf))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	for {
		parent, err := os.FindProcess(pid)
		if err != nil || parent.Signal(syscall.Signal(0)) != nil {
			return fake("waits")
		}
		time.Sleep(time.Millisecond)
	}
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
