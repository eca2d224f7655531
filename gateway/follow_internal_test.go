package gateway

import (
	"testing"

	"github.com/indusagi/indus/interop"
)

// Tasks are not followed at another server that has the name of theirs now.
func TestTasksAreNotFollowedAtASuccessor(t *testing.T) {
	t.Parallel()
	g := New(t.Context(), []interop.Server{{ID: "a", Transport: interop.Stdio{Command: "indus-no-such-command"}}}, nil)
	defer g.Close()
	f := &taskFollower{view: g.all, server: "a", of: origin{"a", "another"}, request: interop.Message{Client: &interop.Client{}}, answer: func() {}}
	f.keep(t.Context()) // ends, though ctx does not
}
