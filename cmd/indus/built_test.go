package main

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// otherIndus returns the path of an indus with the race detector if these tests have none, and of one without it
// otherwise, which starts and ends several times as fast. It returns "" if make test has found no C compiler, or does not
// run: then all tests run without the detector.
var otherIndus = sync.OnceValue(func() string {
	flags := []string{"-ldflags=-s -w"}
	if !raceDetector {
		if os.Getenv("INDUS_RACE") == "" {
			return ""
		}
		flags = append(flags, "-race")
	}
	program, err := fixture.GoLink(".", flags...)
	if err != nil {
		panic(err)
	}
	return program
})

// plainIndus returns the path of otherIndus if that has no race detector.
func plainIndus() string {
	if !raceDetector {
		return ""
	}
	return otherIndus()
}

// builtTests are the tests of the package. They begin when the other indus is built, because some of them set HOME, where
// Go has its cache.
type builtTests struct{ *testing.M }

func (m builtTests) Run() int {
	otherIndus()
	return m.M.Run()
}

// keepsDetector reports whether indus runs with the race detector for these arguments, if the tests have it: it serves, or
// talks with a model. All other commands start, do one thing and end.
func keepsDetector(args []string) bool {
	return len(args) == 0 || strings.HasPrefix(args[0], "-") || args[0] == "serve" || args[0] == "page"
}

// programFor returns the program that runs indus with these arguments.
func programFor(args []string) string {
	if !keepsDetector(args) && plainIndus() != "" {
		return plainIndus()
	}
	return "indus"
}

// begins reports whether the name of a script begins with one of these words.
func begins(script string, with ...string) bool {
	return slices.ContainsFunc(with, func(word string) bool { return strings.HasPrefix(script, word) })
}

// scriptPath returns the PATH of a script. A session is a command that runs and ends, and has the race detector: all
// commands of its scripts have it, and those of the others have none.
func scriptPath(script, path string) string {
	if begins(script, "session") == raceDetector || otherIndus() == "" {
		return path
	}
	return filepath.Dir(otherIndus()) + string(os.PathListSeparator) + path
}

// programBeside returns the program that runs indus with these arguments beside a script. In the scripts of serve and page
// it has the race detector, if it keeps it.
func programBeside(script string, args []string) string {
	if !raceDetector && keepsDetector(args) && begins(script, "serve", "page") && otherIndus() != "" {
		return otherIndus()
	}
	return programFor(args)
}

func TestServeKeepsTheRaceDetector(t *testing.T) {
	plain := plainIndus()
	if raceDetector == (plain == "") {
		t.Errorf("the detector is %v, and the plain indus is %q", raceDetector, plain)
	}
	for _, line := range []string{"serve --stdio", "page", "-p work", ""} {
		if got := programFor(strings.Fields(line)); got != "indus" {
			t.Errorf("indus %s runs %s", line, got)
		}
	}
	if got := programFor([]string{"mcp", "ls"}); raceDetector && got != plain {
		t.Errorf("indus mcp ls runs %s", got)
	}
	for _, script := range []string{"session", "serve_http", "approve"} {
		path, own := scriptPath(script, "/bin"), script == "session" == raceDetector
		if (path == "/bin") != (own || otherIndus() == "") {
			t.Errorf("the PATH of %s is %s", script, path)
		}
	}
	for line, kept := range map[string]bool{"serve_http serve": true, "page page": true, "serve_http mcp ls": false, "approve serve": raceDetector} {
		words := strings.Fields(line)
		got := programBeside(words[0], words[1:])
		if hasDetector := got == "indus" == raceDetector; otherIndus() != "" && hasDetector != kept {
			t.Errorf("%s starts %s", line, got)
		}
	}
	if otherIndus() == "" {
		return
	}
	info, err := buildinfo.ReadFile(otherIndus())
	if err != nil {
		t.Fatal(err)
	}
	if hasDetector := slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}); hasDetector == raceDetector {
		t.Errorf("the other indus has the detector: %v", hasDetector)
	}
}
