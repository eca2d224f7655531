package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// plainIndus returns the path of an indus without the race detector. A command starts and ends with it several times as
// fast. It returns "" if the tests have no detector either: then indus on the PATH is as fast.
var plainIndus = sync.OnceValue(func() string {
	if !raceDetector {
		return ""
	}
	program, err := fixture.GoLink(".", "-ldflags=-s -w")
	if err != nil {
		panic(err)
	}
	return program
})

// builtTests are the tests of the package. They begin when the plain indus is built, because some of them set HOME, where
// Go has its cache.
type builtTests struct{ *testing.M }

func (m builtTests) Run() int {
	plainIndus()
	return m.M.Run()
}

// keepsDetector reports whether indus runs with the race detector for these arguments: it serves, or talks with a model.
// All other commands start, do one thing and end.
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

// detectedScripts are the beginnings of the names of scripts whose commands all keep the race detector. In the others a
// program that runs beside the script keeps it, as programFor decides.
var detectedScripts = []string{"serve", "session", "page"}

// scriptPath returns the PATH of a script.
func scriptPath(script, path string) string {
	begins := func(name string) bool { return strings.HasPrefix(script, name) }
	if slices.ContainsFunc(detectedScripts, begins) || plainIndus() == "" {
		return path
	}
	return filepath.Dir(plainIndus()) + string(os.PathListSeparator) + path
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
	if got := scriptPath("serve_http", "/bin"); got != "/bin" {
		t.Errorf("the PATH of serve_http is %s", got)
	}
}
