package mcpconfig_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/mcpconfig"
)

// TestToolsAreApproved approves tools from several goroutines, each under its project and
// name, and revokes them.
func TestToolsAreApproved(t *testing.T) {
	t.Parallel()
	o := &mcpconfig.Options{State: filepath.Join(t.TempDir(), "state")}
	list := func() (got []string) {
		t.Helper()
		all, err := mcpconfig.ApprovedTools(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			if a.At.IsZero() {
				t.Errorf("%s has no time", a.Tool)
			}
			got = append(got, a.Project+" "+a.Tool+" "+a.Call+" "+a.Fingerprint)
		}
		return got
	}
	var all sync.WaitGroup
	for _, a := range []mcpconfig.ApprovedTool{
		{Project: "/b", Tool: "write", Fingerprint: "1"}, {Project: "/a", Tool: "bash", Call: "make", Fingerprint: "2"},
		{Project: "/a", Tool: "bash", Call: "ls", Fingerprint: "3"}, {Project: "/a", Tool: "write", Fingerprint: "4"},
	} {
		all.Go(func() {
			if err := mcpconfig.ApproveTools(o, a); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := mcpconfig.ApproveTools(o, mcpconfig.ApprovedTool{Project: "/a", Tool: "write", Fingerprint: "5"}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"/a bash ls 3", "/a bash make 2", "/a write  5", "/b write  1"}, list()); d != "" {
		t.Error(d)
	}
	if err := mcpconfig.RevokeTools(o, mcpconfig.ApprovedTool{Project: "/a", Tool: "bash", Call: "ls"}, mcpconfig.ApprovedTool{Project: "/c", Tool: "x"}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"/a bash make 2", "/a write  5", "/b write  1"}, list()); d != "" {
		t.Error(d)
	}
	if err := mcpconfig.ApproveTools(o, mcpconfig.ApprovedTool{Project: "/a", Tool: "x"}); err == nil {
		t.Error("a tool is approved that nobody could tell from another")
	}
	if err := os.Chmod(filepath.Join(o.State, "tool-approvals.json"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := mcpconfig.ApprovedTools(o); err == nil {
		t.Errorf("it counts though others may write it: %v", got)
	}
}
