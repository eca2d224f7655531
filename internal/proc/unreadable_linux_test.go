package proc_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// unreadable removes its own environment and waits for the end of stdin. To other processes it
// looks like a process that is executing a program.
func unreadable() {
	raw, _ := os.ReadFile("/proc/self/stat")
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	begin, _ := strconv.ParseUint(fields[47], 10, 64)
	end, _ := strconv.ParseUint(fields[48], 10, 64)
	page := uint64(os.Getpagesize())
	begin, end = begin/page*page, end/page*page
	nothing, err := unix.MemfdCreate("nothing", 0) // bytes beyond the end of a file cannot be read
	_, _, failed := unix.Syscall6(unix.SYS_MMAP, uintptr(begin), uintptr(end-begin), unix.PROT_READ,
		unix.MAP_SHARED|unix.MAP_FIXED, uintptr(nothing), 0)
	if err != nil || failed != 0 {
		os.Exit(1)
	}
	fmt.Println("up")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// A process with an unreadable environment may be ours, but only for as long as it takes to execute
// a program.
func TestNobodyExecutesForever(t *testing.T) {
	t.Parallel()
	c := sh(`sleep 1000 >/dev/null 2>&1 & echo $!; cat`)
	c.Grace.Term = time.Hour
	p := start(t, c)
	pids := numbers(t, line(p))

	padding := strings.Repeat("x", 64<<10) // surrounds the first page of the environment, which could also hold the stack
	other := exec.Command(os.Args[0], padding)
	other.Env = []string{"PADDING=" + padding, fixture + "=unreadable"}
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, _ := other.StdinPipe()
	stdout, _ := other.StdoutPipe()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); _ = other.Wait() })
	if said, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(said, err)
	}
	if env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", other.Process.Pid)); len(env) != 0 {
		t.Fatalf("its environment can be read: %.40q", env)
	}
	within(t, p.Close)
	waitGone(t, pids...)
}
