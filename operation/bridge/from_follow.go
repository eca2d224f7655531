package bridge

import (
	"bytes"
	"context"
	"log/slog"
	"slices"

	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/toolbox"
)

// Follow imports the server's tools as the operations of an owner, as [operation.Registry.Import] does. It imports
// again when the list changes, or may have changed while the connection was lost. If the first import fails, Follow
// returns its error. Otherwise it returns nil when ctx ends, and leaves the operations registered.
//
// After each import Follow calls report, if it is not nil, in its own goroutine. The error is nil, or the reason for
// which the operations are unchanged: a name that is taken ([*operation.Collision]), or a server that does not answer.
// The logger receives the error too. While the server is away its operations stay registered, and calls of them are
// [Unavailable].
func (f *FromMCP) Follow(ctx context.Context, r *operation.Registry, owner string, report func(error)) error {
	l, err := f.acquireLink(ctx)
	if err != nil {
		return err
	}
	defer l.release()
	changed := make(chan struct{}, 1) // several changes count as one
	stop := l.fleet.Watch(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	defer stop()
	var last []toolbox.Descriptor
	for first := true; ; first = false {
		tools, err := l.tools()
		if first || err != nil || !slices.EqualFunc(last, tools, sameTool) {
			if err == nil {
				err = r.Import(ctx, owner, fixedAdapter(f.registrations(l, tools)))
			}
			if err == nil {
				last = tools
			}
			if first && err != nil {
				return err
			}
			f.report(report, err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// fixedAdapter is an adapter for existing registrations.
type fixedAdapter []operation.Registration

// Import implements [operation.Adapter].
func (g fixedAdapter) Import(context.Context) ([]operation.Registration, error) { return g, nil }

func (f *FromMCP) report(report func(error), err error) {
	if err != nil {
		f.logger().Warn("the operations stay as they are", slog.String("server", f.Namespace), slog.Any("error", err))
	}
	if report != nil {
		report(err)
	}
}

func sameTool(a, b toolbox.Descriptor) bool {
	return a.Tool == b.Tool && bytes.Equal(a.Wire.JSON, b.Wire.JSON)
}
