package gateway_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// spineFiles returns the files that docs/spine.md lists, in order.
func spineFiles(t *testing.T) (files []string) {
	t.Helper()
	text, err := os.ReadFile("../docs/spine.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\| \[(\S+\.go)\]`).FindAllStringSubmatch(string(text), -1) {
		files = append(files, m[1])
	}
	return files
}

// TestTheWayOfACall reads the stack of a call that waits for its server: the rooms that it passes, in order, the files,
// which are those of docs/spine.md, and the number of our functions. Someone who reads the code has to follow each.
func TestTheWayOfACall(t *testing.T) {
	spine := spineFiles(t)
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Dir(filepath.Dir(here))
	frame := regexp.MustCompile(`(?m)^github\.com/indusagi/indus/(([a-z]+)[/.].*)\(.*\n\t` + regexp.QuoteMeta(root) + `/(\S+\.go):`)
	for name, tt := range map[string]struct {
		parts []with
		most  int
	}{
		"alone":        {nil, 19},
		"with a guard": {[]with{withPolicy, withAudit, withTelemetry, withActivity}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			var dump []byte
			repeatedTool(t, func() {
				// The server may have the request before the write of it has returned.
				for dump == nil || bytes.Contains(dump, []byte("sdkwire.turn.do(")) {
					runtime.Gosched()
					dump = make([]byte, 1<<20)
					dump = dump[:runtime.Stack(dump, true)]
				}
			}, tt.parts...)()
			var way, rooms, files []string
			for goroutine := range strings.SplitSeq(string(dump), "\n\n") {
				if !strings.Contains(goroutine, "gateway.(*view).Handle(") {
					continue
				}
				for _, m := range slices.Backward(frame.FindAllStringSubmatch(goroutine, -1)) {
					if strings.HasSuffix(m[3], "_test.go") {
						continue
					}
					way, rooms = append(way, m[1]), append(rooms, m[2])
					if !slices.Contains(files, m[3]) {
						files = append(files, m[3])
					}
				}
			}
			// A guard wraps the connection for its spans, and is nowhere else on the stack.
			isOfGuard := func(room string) bool { return room == "control" }
			if got := strings.Join(slices.Compact(slices.DeleteFunc(rooms, isOfGuard)), " "); got != "gateway host gateway interop gateway interop" {
				t.Errorf("a call passes %s", got)
			}
			files = slices.DeleteFunc(files, func(file string) bool { return strings.HasPrefix(file, "control/internal/upstream/") })
			if diff := cmp.Diff(spine, files); diff != "" {
				t.Errorf("docs/spine.md and the files of a call (-page +call):\n%s", diff)
			}
			if len(way) > tt.most {
				t.Errorf("%d functions, over %d:\n%s", len(way), tt.most, strings.Join(way, "\n"))
			}
		})
	}
}

// TestTheSpineIsAlone checks that no file of a call imports what operators, changes of tools or replicas need.
func TestTheSpineIsAlone(t *testing.T) {
	for _, file := range spineFiles(t) {
		parsed, err := parser.ParseFile(token.NewFileSet(), "../"+file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range parsed.Imports {
			path := strings.TrimPrefix(strings.Trim(imported.Path.Value, `"`), "github.com/indusagi/indus/")
			if room, _, _ := strings.Cut(path, "/"); room == "control" || room == "ledger" || room == "replica" {
				t.Errorf("%s imports %s", file, path)
			}
		}
	}
}

// TestRequestsLeaveAtOnePlace checks that one file asks the guard to admit, and that it also has the one function that
// passes the requests of callers to the fleet. Package lists reads lists for all callers.
func TestRequestsLeaveAtOnePlace(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	places := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, call := range regexp.MustCompile(`(?:Fleet|attached)\.(?:Request|Do)\(|\.Admit\(|\.Begin\(`).FindAllString(string(text), -1) {
			places[call] = append(places[call], file)
		}
	}
	want := map[string][]string{
		"Fleet.Request(": {"exchange.go"}, ".Admit(": {"exchange.go"}, ".Begin(": {"exchange.go"},
	}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Errorf("where requests are begun, admitted and sent (-want +got):\n%s", diff)
	}
}
