package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/processes"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

func TestEndpointLife(t *testing.T) {
	r := onFixture(t, nil, config.Timeouts{}, "-noise")
	if s := r.Status(); s != (interop.EndpointStatus{Server: "fx", Phase: interop.Idle}) {
		t.Errorf("idle: %+v", s)
	}
	if r.Era() != "" || r.Capabilities() != nil || r.Instructions() != "" {
		t.Error("an idle endpoint knows its server")
	}
	mustOpen(t, r.Endpoint)
	if _, err := r.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := r.Status()
	if s.Phase != interop.Ready || s.Era != interop.Modern || s.Version != "2026-07-28" || s.Fault != nil {
		t.Errorf("ready: %+v", s)
	}
	if s.Took <= 0 || s.Tools < 10 || s.Noise < 9 {
		t.Errorf("took %v, %d tools, %d lines of noise", s.Took, s.Tools, s.Noise)
	}
	if got := string(r.Capabilities()); got != `{"tools":{"listChanged":true}}` {
		t.Errorf("capabilities %s", got)
	}
	if r.Instructions() != "Be careful." {
		t.Errorf("instructions %q", r.Instructions())
	}
	mustOpen(t, r.Endpoint) // again, without effect
	select {
	case <-r.Done():
		t.Error("done while ready")
	default:
	}
	r.Close()
	r.Close()
	receiveSoon(t, r.Done(), "the end")
	if s := r.Status(); s.Phase != interop.Closed || s.Fault != nil {
		t.Errorf("closed: %+v", s)
	}
	r.Wait("start ")
	if n := len(r.Events("start ")); n != 1 {
		t.Errorf("%d processes", n)
	}
}

func TestEndpointOpenIsSingleFlight(t *testing.T) {
	r := onFixture(t, nil, config.Timeouts{}, "-hang", "server/discover")
	impatient, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- r.Open(impatient) }()
	r.Wait("recv server/discover")
	results := make(chan error, 100)
	for range cap(results) {
		go func() { results <- r.Open(context.Background()) }()
	}
	leave()
	if err := receiveSoon(t, left, "the one who left"); err != context.Canceled {
		t.Errorf("the one who left got %v", err)
	}
	r.Send("release server/discover")
	for range cap(results) {
		if err := receiveSoon(t, results, "Open"); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.Events("start ")); n != 1 {
		t.Errorf("%d processes", n)
	}
	wantReady(t, r.Endpoint)
}

func TestEndpointOpenWithAnEndedContextStartsNothing(t *testing.T) {
	r := onFixture(t, nil, config.Timeouts{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Open(ctx); err != context.Canceled {
		t.Error(err)
	}
	if p := r.Phase(); p != interop.Idle {
		t.Errorf("phase %s", p)
	}
}

func TestEndpointFaultedGivesTheVerySameFault(t *testing.T) {
	r := onFixture(t, nil, config.Timeouts{}, "-exit")
	var faults [20]error
	var wg sync.WaitGroup
	for i := range faults {
		wg.Go(func() { faults[i] = r.Open(context.Background()) })
	}
	wg.Wait()
	stored := r.Status().Fault
	if stored == nil {
		t.Fatal("no fault is stored")
	}
	receiveSoon(t, r.Done(), "the end")
	r.Close()
	r.Close()
	for _, err := range append(faults[:], r.Open(t.Context())) {
		if err != error(stored) {
			t.Errorf("Open gave %v, not the stored fault", err)
		}
	}
	if s := r.Status(); s.Phase != interop.Faulted || s.Fault != stored {
		t.Errorf("after Close: %+v", s)
	}
	_, err := r.Tools(t.Context())
	wantFault(t, err, interop.NotConnected)
	if !errors.Is(err, interop.SpawnFailed) || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("the reason is lost: %v", err)
	}
}

func TestEndpointCloseDuringConnect(t *testing.T) {
	r := onFixture(t, nil, config.Timeouts{}, "-hang", "server/discover,initialize")
	opened := make(chan error, 1)
	go func() { opened <- r.Open(context.Background()) }()
	r.Wait("recv server/discover")
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(r.Close)
	}
	wg.Wait()
	wantFault(t, receiveSoon(t, opened, "Open"), interop.NotConnected)
	if p := r.Phase(); p != interop.Closed {
		t.Errorf("phase %s", p)
	}
	wantFault(t, r.Open(t.Context()), interop.NotConnected)
}

func TestEndpointCloseDuringCallsAndAListing(t *testing.T) {
	r := openFixture(t, nil, "-hang", "tools/list")
	listed := make(chan error, 1)
	go func() { _, err := r.Tools(context.Background()); listed <- err }()
	calls := []<-chan call{r.start(t.Context(), "hang", `{"key":"a"}`), r.start(t.Context(), "hang", `{"key":"b"}`)}
	r.WaitN("call hang", 2)
	r.Wait("recv tools/list")
	r.Close()
	for _, c := range calls {
		// It is never NotConnected: the call was sent and must not be repeated.
		wantFault(t, receiveSoon(t, c, "the call").err, interop.ToolError)
	}
	wantFault(t, receiveSoon(t, listed, "the listing"), interop.NotConnected)
	if s := r.Status(); s.Phase != interop.Closed || s.Fault != nil {
		t.Errorf("%+v", s)
	}
}

func TestEndpointCloseBeforeOpen(t *testing.T) {
	r := onFixture(t, nil, config.Timeouts{})
	r.Close()
	wantFault(t, r.Open(t.Context()), interop.NotConnected)
	if n := len(r.Events("start ")); n != 0 {
		t.Errorf("%d processes", n)
	}
}

func TestEndpointCloseEndsAStubbornServerAndItsChildren(t *testing.T) {
	t.Parallel()
	r := openFixture(t, nil, "-stubborn", "-grandchild")
	start := time.Now()
	r.Close()
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("Close took %v", took)
	}
	for _, event := range []string{r.Wait("start "), r.Wait("grandchild ")} {
		waitGone(t, event[strings.LastIndexByte(event, ' ')+1:])
	}
}

// waitGone waits until no process has the number, or only a zombie that another process must
// reap.
func waitGone(t *testing.T, pid string) {
	t.Helper()
	for end := time.Now().Add(eventWait); ; time.Sleep(5 * time.Millisecond) {
		if number, err := strconv.Atoi(pid); err != nil {
			t.Fatal(err)
		} else if !processes.Alive(number) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %s is left", pid)
		}
	}
}

func TestEndpointOfADeadProcessIsFaulted(t *testing.T) {
	r := openFixture(t, nil)
	hanging := r.start(t.Context(), "hang", `{"key":"k"}`)
	r.Wait("call hang")
	died := time.Now()
	_, err := r.Invoke(t.Context(), "die", nil)
	if took := time.Since(died); took > 15*time.Second { // the failure is known at once and needs no wait
		t.Errorf("the call failed after %v", took)
	}
	receiveSoon(t, r.Done(), "the end")
	for _, err := range []error{err, receiveSoon(t, hanging, "the call beside").err, r.Status().Fault, r.Open(t.Context())} {
		if !isExit(7)(err) || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "died in mid-call") {
			t.Errorf("how it ended is lost: %v", err)
		}
	}
	wantFault(t, err, interop.ToolError)
	wantFault(t, r.Open(t.Context()), interop.Transport)
	_, err = r.Invoke(t.Context(), "echo", nil)
	wantFault(t, err, interop.NotConnected)
	r.Wait("call die")
	if got := r.Events("call die"); len(got) != 1 {
		t.Errorf("the call was repeated: %q", got)
	}
}

func TestEndpointOfAServerThatClosesItsStdoutIsFaulted(t *testing.T) {
	t.Parallel()
	s := config.Server{ID: "fx", Transport: config.Stdio{Command: "sh", Args: []string{"-c",
		`read line; echo '{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}'; read line; exec >&-; cat >&2`}}}
	e := newEndpoint(t, s, nil)
	mustOpen(t, e)
	_, err := e.Invoke(t.Context(), "echo", nil)
	wantFault(t, err, interop.ToolError)
	if !strings.Contains(err.Error(), "closed its stdout") {
		t.Error(err)
	}
	receiveSoon(t, e.Done(), "the end")
}

func TestEndpointOfAServerThatClosesItsStdinIsFaulted(t *testing.T) {
	t.Parallel()
	s := config.Server{ID: "fx", Transport: config.Stdio{Command: "sh", Args: []string{"-c",
		`read line; echo '{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}'; exec <&-; echo '{"jsonrpc":"2.0","method":"notifications/deaf"}'; while :; do sleep 1; done`}}}
	deaf := make(chan struct{}, 1)
	e := newEndpoint(t, s, &interop.EndpointOptions{Receive: func(context.Context, interop.Message) (json.RawMessage, error) {
		deaf <- struct{}{}
		return nil, nil
	}})
	mustOpen(t, e)
	receiveSoon(t, deaf, "the end of its stdin")
	_, err := e.Invoke(t.Context(), "echo", nil)
	wantFault(t, err, interop.ToolError)
	if !strings.Contains(err.Error(), "closed its stdin") {
		t.Error(err)
	}
	receiveSoon(t, e.Done(), "the end")
}

func TestEndpointKnowsHowAServerEndedThoughItsChildrenHoldThePipes(t *testing.T) {
	t.Parallel()
	r := openFixture(t, nil, "-grandchild")
	r.Send("die") // only the leader
	var err error
	awaitCondition(t, "a call fails", func() bool {
		_, err = r.Invoke(t.Context(), "echo", nil)
		return err != nil
	})
	receiveSoon(t, r.Done(), "the end")
	for _, err := range []error{err, r.Status().Fault} {
		if !isExit(7)(err) {
			t.Errorf("how it ended is lost: %v", err)
		}
	}
}
