package gateway

import (
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// A task is not followed at another server that now has the name of the task's server.
func TestTasksAreNotFollowedAtASuccessor(t *testing.T) {
	t.Parallel()
	g := New(t.Context(), []config.Server{{ID: "a", Transport: config.Stdio{Command: "indus-no-such-command"}}}, nil)
	defer g.Close()
	f := &taskFollower{view: g.mainView, server: "a", origin: serverOrigin{"a", "another"}, request: interop.Message{Client: &interop.Client{}}, markAnswered: func() {}}
	f.run(t.Context()) // ends although ctx does not
}
