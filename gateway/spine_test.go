package gateway_test

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestTheWayOfACall reads the stack of a call that waits for its server: the rooms that it passes, in order, and the
// number of our functions. Someone who reads the code has to follow each of them.
func TestTheWayOfACall(t *testing.T) {
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
				dump = make([]byte, 1<<20)
				dump = dump[:runtime.Stack(dump, true)]
			}, tt.parts...)()
			functions := regexp.MustCompile(`(?m)^github\.com/indusagi/indus/(([a-z]+)[/.].*)\(`)
			var way, rooms []string
			for goroutine := range strings.SplitSeq(string(dump), "\n\n") {
				if !strings.Contains(goroutine, "gateway.(*view).Handle(") {
					continue
				}
				for _, m := range slices.Backward(functions.FindAllStringSubmatch(goroutine, -1)) {
					if strings.HasPrefix(m[1], "gateway_test.") {
						continue
					}
					way, rooms = append(way, m[1]), append(rooms, m[2])
				}
			}
			if got := strings.Join(slices.Compact(rooms), " "); got != "gateway host gateway interop gateway interop" {
				t.Errorf("a call passes %s", got)
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
