package bridge

import (
	"bytes"
	"context"
	"log/slog"
	"slices"

	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/toolbox"
)

// Follow makes the server's tools the operations of an owner, as
// [operation.Registry.Import] does, and again whenever the server has changed what it
// lists, or may have while the connection was lost. It returns nil once ctx has ended, and
// leaves the operations as they are; or at once the error of the first import.
//
// After each import report gets nil, or why all is as it was before: a name that
// is taken ([*operation.Collision]), a server that does not answer. It runs in the
// goroutine of Follow; nil: nobody does, but for the logger. While a server is away its
// operations stay, and calls of them are [Unavailable].
func (f *FromMCP) Follow(ctx context.Context, r *operation.Registry, owner string, report func(error)) error {
	l, err := f.hold(ctx)
	if err != nil {
		return err
	}
	defer l.release()
	changed := make(chan struct{}, 1) // many changes are one
	stop := l.fleet.Watch(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	defer stop()
	var last []toolbox.Descriptor
	for first := true; ; first = false {
		tools, err := l.listed()
		if first || err != nil || !slices.EqualFunc(last, tools, sameRow) {
			if err == nil {
				err = r.Import(ctx, owner, given(f.registrations(l, tools)))
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

// given is an adapter of what is there already.
type given []operation.Registration

// Import implements [operation.Adapter].
func (g given) Import(context.Context) ([]operation.Registration, error) { return g, nil }

func (f *FromMCP) report(report func(error), err error) {
	if err != nil {
		f.logger().Warn("the operations stay as they are", slog.String("server", f.Namespace), slog.Any("error", err))
	}
	if report != nil {
		report(err)
	}
}

func sameRow(a, b toolbox.Descriptor) bool {
	return a.Tool == b.Tool && bytes.Equal(a.Wire.JSON, b.Wire.JSON)
}
