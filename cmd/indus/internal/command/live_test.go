package command_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/interop"
)

func TestLiveLinesFitTheScreen(t *testing.T) {
	var all []interop.EndpointStatus
	for i := range 30 {
		st := interop.EndpointStatus{Server: fmt.Sprintf("s%02d", i), Phase: interop.Connecting}
		switch i % 3 {
		case 0:
			st.Phase, st.Tools, st.Took = interop.Ready, 1, 1234*time.Millisecond
		case 1:
			st.Phase = interop.Faulted
			st.Fault = interop.NewFault(interop.SpawnFailed, st.Server, "connect", errors.New("two\nlines\x1b[2J"))
		}
		all = append(all, st)
	}
	want := []string{
		"s01  faulted     connect: two lines[2J",
		"s02  connecting  1.5s",
		"s04  faulted     connect: two lines[2J",
		"… and 27 more; 10 of 30 are ready",
	}
	if diff := cmp.Diff(want, command.ServerLines(all, 1500*time.Millisecond, 6)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"s00  ready       1 tool, 1.23s", want[0], want[1]},
		command.ServerLines(all[:3], 1500*time.Millisecond, 6)); diff != "" {
		t.Error(diff)
	}
}
