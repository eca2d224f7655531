package toolbox_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/indusagi/indus/toolbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echoTool returns a tool that returns its input.
func echoTool(name string) toolbox.Tool {
	return toolbox.Tool{Name: name,
		Run: func(_ context.Context, _ *toolbox.Context, in json.RawMessage) (*toolbox.Result, error) {
			return toolbox.NewResult(toolbox.JSON(in)), nil
		}}
}

// textTool returns a tool that always returns the same text.
func textTool(name, text string) toolbox.Tool {
	return toolbox.Tool{Name: name,
		Run: func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
			return toolbox.NewResult(toolbox.Text(text)), nil
		}}
}

func registry(tools ...toolbox.Tool) *toolbox.Registry {
	r := toolbox.NewRegistry(nil)
	r.Add(tools...)
	return r
}

// fleet is a source with snapshots and answers set by the test.
type fleet struct {
	toolbox.Watchers
	snapshotOf atomic.Pointer[func(toolbox.Principal) *toolbox.Snapshot]
	do         toolbox.Do
}

func newFleet(s *toolbox.Snapshot, do toolbox.Do) *fleet {
	f := &fleet{do: do}
	f.set(s)
	return f
}

func (f *fleet) set(s *toolbox.Snapshot) {
	f.setEach(func(toolbox.Principal) *toolbox.Snapshot { return s })
}

func (f *fleet) setEach(each func(toolbox.Principal) *toolbox.Snapshot) {
	f.snapshotOf.Store(&each)
	f.Notify()
}

func (f *fleet) Snapshot(p toolbox.Principal) *toolbox.Snapshot { return (*f.snapshotOf.Load())(p) }

func (f *fleet) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	if f.do == nil {
		return nil, &toolbox.UnknownTool{Name: c.Name}
	}
	return f.do(ctx, c)
}

var _ toolbox.Source = (*fleet)(nil)

func names(tools []toolbox.Descriptor) []string {
	list := []string{}
	for _, d := range tools {
		list = append(list, d.Name)
	}
	return list
}

// plainDescriptor returns the descriptor of a tool with a plain schema.
func plainDescriptor(name string) toolbox.Descriptor {
	return toolbox.Descriptor{Name: name, Server: "s", Tool: name, Schema: json.RawMessage(`{"type":"object"}`)}
}
