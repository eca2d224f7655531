package gateway_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheWayOfACall reads the stack of a call that waits for its server: the rooms that it passes, in order, the files,
// which are those of docs/spine.md, and the number of our functions. Someone who reads the code has to follow each.
func TestTheWayOfACall(t *testing.T) {
	text, err := os.ReadFile("../docs/spine.md")
	if err != nil {
		t.Fatal(err)
	}
	var spine []string
	for _, m := range regexp.MustCompile(`(?m)^\| \[(\S+\.go)\]`).FindAllStringSubmatch(string(text), -1) {
		spine = append(spine, m[1])
	}
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Dir(filepath.Dir(here))
	frame := regexp.MustCompile(`(?m)^github\.com/indusagi/indus/(([a-z]+)[/.].*)\(.*\n\t` + regexp.QuoteMeta(root) + `/(\S+\.go):`)
	for name, tt := range map[string]struct {
		parts []with
		most  int
	}{
		"alone":        {nil, 20},
		"with a guard": {[]with{withPolicy, withAudit, withTelemetry, withActivity}, 24},
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
			if got := strings.Join(slices.Compact(rooms), " "); got != "gateway host gateway interop gateway interop" {
				t.Errorf("a call passes %s", got)
			}
			want := slices.DeleteFunc(slices.Clone(spine), func(file string) bool {
				return tt.parts == nil && file == "gateway/admit.go"
			})
			files = slices.DeleteFunc(files, func(file string) bool { return strings.HasPrefix(file, "gateway/internal/upstream/") })
			if diff := cmp.Diff(want, files); diff != "" {
				t.Errorf("docs/spine.md and the files of a call (-page +call):\n%s", diff)
			}
			if len(way) > tt.most {
				t.Errorf("%d functions, over %d:\n%s", len(way), tt.most, strings.Join(way, "\n"))
			}
		})
	}
}

// TestRequestsLeaveAtOnePlace checks that one function passes the requests of callers to the fleet. Package lists reads
// lists for all callers.
func TestRequestsLeaveAtOnePlace(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for range regexp.MustCompile(`(Fleet|attached)\.(Request|Do)\(`).FindAll(text, -1) {
			places = append(places, file)
		}
	}
	if len(places) != 1 {
		t.Errorf("requests are passed to the fleet in %v", places)
	}
}
