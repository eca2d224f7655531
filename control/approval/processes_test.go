package approval_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/control/approval"
)

// roleVariable makes the test binary a child process that works on the file of approvals in its argument.
const roleVariable = "INDUS_APPROVAL_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "race":
		raceForGrants(os.Args[1])
	case "work":
		workUntilKilled(os.Args[1])
	}
}

// child starts the test binary as a child process with a role.
func child(t *testing.T, role, path string) (*exec.Cmd, *bufio.Reader, func(line string)) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], path)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out), func(line string) { fmt.Fprintln(in, line) }
}

// check ends a child process at an error.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// raceForGrants reads a line for each round, requires the same call from four goroutines, and prints the number of
// grants.
func raceForGrants(path string) {
	book, err := approval.Open(path, nil)
	check(err)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		results := make(chan int)
		for range 4 {
			go func() {
				_, outcome, err := book.Require(noContext, callOf("{}"), nil)
				check(err)
				results <- map[approval.Outcome]int{approval.Granted: 1}[outcome]
			}()
		}
		n := 0
		for range 4 {
			n += <-results
		}
		fmt.Println(n)
	}
}

// Two processes with several goroutines get one grant together.
func TestOneProcessGetsTheGrant(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{})
	book, err := approval.Open(d.path, nil) // with the clock of the child processes
	if err != nil {
		t.Fatal(err)
	}
	d.Book = book
	item := d.wants(callOf("{}"), approval.Pending)
	_, oneOut, oneIn := child(t, "race", d.path)
	_, otherOut, otherIn := child(t, "race", d.path)
	for round := range 10 {
		d.decide(item.ID, allowed)
		oneIn("go")
		otherIn("go")
		var one, other int
		for out, n := range map[*bufio.Reader]*int{oneOut: &one, otherOut: &other} {
			if _, err := fmt.Fscanln(out, n); err != nil {
				t.Fatal(err)
			}
		}
		if one+other != 1 {
			t.Fatalf("round %d: %d and %d were granted", round, one, other)
		}
		item = d.wants(callOf("{}"), approval.Pending)
	}
}

// workUntilKilled asks for calls, allows them and spends the grants. It prints the id of an approval after each step.
func workUntilKilled(path string) {
	book, err := approval.Open(path, nil)
	check(err)
	for n := 0; ; n++ {
		call := callOf(fmt.Sprint(n % 5))
		item, outcome, err := book.Require(noContext, call, nil)
		check(err)
		switch outcome {
		case approval.Granted:
			fmt.Println("used", item.ID)
			continue
		case approval.Pending:
			fmt.Println("asked", item.ID)
		}
		_, err = book.Decide(noContext, item.ID, allowed)
		check(err)
		fmt.Println("allowed", item.ID)
	}
}

// A process that is killed at any moment leaves a file that can be read. No grant is used twice, and a decision that was
// reported is not lost.
func TestKilledBetweenSteps(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{})
	used := map[string]bool{}
	for round := range 12 {
		cmd, out, _ := child(t, "work", d.path)
		last := map[string]string{} // the last reported step of each approval
		read := func() bool {
			line, err := out.ReadString('\n')
			if err != nil {
				return false
			}
			step, id, _ := strings.Cut(strings.TrimSpace(line), " ")
			if step == "used" && used[id] {
				t.Fatalf("round %d: %s was used twice", round, id)
			}
			used[id] = used[id] || step == "used"
			last[id] = step
			return true
		}
		for range 3 + 4*round {
			if !read() {
				t.Fatal("the process ended")
			}
		}
		var killing sync.WaitGroup
		killing.Go(func() { _ = cmd.Process.Kill() })
		for read() {
		}
		killing.Wait()
		_ = cmd.Wait()
		book, err := approval.Open(d.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for id, step := range last {
			item, err := book.Item(t.Context(), id)
			if err != nil {
				t.Fatalf("round %d: %s was %s: %v", round, id, step, err)
			}
			lost := step == "used" && item.State != approval.Spent ||
				step == "allowed" && item.State != approval.Allowed && item.State != approval.Spent
			if lost {
				t.Fatalf("round %d: %s was %s, and is %s", round, id, step, item.State)
			}
		}
	}
}
