// Package processes reads the processes of the machine. On Linux it needs no program: ps is no part of a small system.
package processes

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Process is one process.
type Process struct {
	PID, Parent int
	State       string // begins with Z if it has ended and is not reaped
	Command     string // with its arguments
}

// String returns a line for a message.
func (p Process) String() string {
	return fmt.Sprint(p.PID, " ", p.Parent, " ", p.State, " ", p.Command)
}

// List returns all processes.
func List() ([]Process, error) {
	if runtime.GOOS != "linux" {
		return listByPS()
	}
	directories, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(directories) == 0 {
		return nil, fmt.Errorf("/proc has no processes: %w", err)
	}
	var all []Process
	for _, dir := range directories {
		if p, ok := readStat(dir); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// readStat reads a directory of /proc. It returns false if the process has just ended.
func readStat(dir string) (p Process, ok bool) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	name := bytes.IndexByte(stat, '(')
	end := bytes.LastIndexByte(stat, ')') // the name may have parentheses
	if err != nil || name < 0 || end < name {
		return p, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 2 {
		return p, false
	}
	p.PID, _ = strconv.Atoi(filepath.Base(dir))
	p.Parent, _ = strconv.Atoi(fields[1])
	p.State = fields[0]
	line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	p.Command = strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
	if p.Command == "" {
		p.Command = "[" + string(stat[name+1:end]) + "]"
	}
	return p, true
}

func listByPS() ([]Process, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,stat=,command=").Output()
	if err != nil {
		return nil, fmt.Errorf("ps: %w", err)
	}
	var all []Process
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 3 {
			p := Process{State: f[2], Command: strings.Join(f[3:], " ")}
			p.PID, _ = strconv.Atoi(f[0])
			p.Parent, _ = strconv.Atoi(f[1])
			all = append(all, p)
		}
	}
	return all, nil
}

// Find returns the process with this number. It returns false if there is none.
func Find(pid int) (Process, bool) {
	if runtime.GOOS == "linux" {
		return readStat(filepath.Join("/proc", strconv.Itoa(pid)))
	}
	all, err := List()
	if err != nil {
		panic(err)
	}
	i := slices.IndexFunc(all, func(p Process) bool { return p.PID == pid })
	if i < 0 {
		return Process{}, false
	}
	return all[i], true
}

// Alive reports whether a process runs. One that has ended and is not reaped does not: its parent decides about that.
func Alive(pid int) bool {
	p, ok := Find(pid)
	return ok && !strings.HasPrefix(p.State, "Z")
}
