package serve

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/spf13/cobra"
)

// TellEvents returns the function that writes lines about events.
func TellEvents(err io.Writer) func(interop.Event) {
	return reportEvents(show.New(nil, io.Discard, err))
}

// Follower follows one file, one check at a time.
type Follower struct{ *follower }

// Follow serves a file's configuration, and reports to err. The caller must close the gateway.
func Follow(ctx context.Context, path string, err io.Writer) (*Follower, *gateway.Gateway, error) {
	flags, cmd := &serveFlags{}, &cobra.Command{}
	flags.ConfigFlags.Add(cmd)
	if err := cmd.Flags().Set("mcp", path); err != nil {
		return nil, nil, err
	}
	began := time.Now()
	c, fault := flags.ConfigFlags.Read(ctx)
	if fault != nil {
		return nil, nil, fault
	}
	s := show.New(strings.NewReader(""), io.Discard, err)
	local, fault := newBuiltins(false, s)
	if fault != nil {
		return nil, nil, fault
	}
	w := &follower{
		flags: flags, s: s, local: local, signIns: signin.Open(s), gateway: gateway.New(ctx, c.Servers(), nil),
		control: &controls{},
	}
	w.begin(c, began)
	return &Follower{w}, w.gateway, nil
}

// FollowKeys follows a file of keys too.
func (f *Follower) FollowKeys(ctx context.Context, path string) (*host.Keys, error) {
	keys, err := host.KeyFile(ctx, path)
	if err == nil {
		f.keys, f.flags.keyFile = keys, path
		f.begin(f.served.Load(), time.Now())
	}
	return keys, err
}

// Look runs the check that happens once a second.
func (f *Follower) Look(ctx context.Context) { f.tick(ctx) }

// Policy returns the number of rules that decide, or -1 without a policy, and the problem that the page shows.
func (f *Follower) Policy() (rules int, problem error) {
	if p := f.control.policy.Load(); p != nil {
		return p.Current().Len(), f.control.policyProblem()
	}
	return -1, f.control.policyProblem()
}

// WatchPolicy calls changed when Policy may return something else.
func (f *Follower) WatchPolicy(changed func()) { f.control.changed.Watch(changed) }

// Tap writes messages to a file.
type Tap struct{ *tap }

// OpenTap opens a file with a maximum size.
func OpenTap(path string, most int64, err io.Writer) (Tap, error) {
	t, fault := openTap(path, show.New(nil, io.Discard, err))
	if fault == nil {
		t.maxSize = most
	}
	return Tap{t}, fault
}

// StuckTap returns a tap with a queue of this size that never writes.
func StuckTap(room int) Tap { return Tap{&tap{queue: make(chan tapLine, room)}} }

// MaxTapQueue is the size of a tap's queue.
const MaxTapQueue = maxTapQueue

// Unstick starts writing to a file.
func (t Tap) Unstick(path string, err io.Writer) error {
	t.path, t.maxSize, t.s = path, maxTapFile, show.New(nil, io.Discard, err)
	fault := t.open()
	t.writer.Go(t.write)
	return fault
}

// Hide masks the secrets of servers, as serve does at the start.
func (t Tap) Hide(servers ...config.Server) { signin.Open(t.s).Hide(servers...) }

// Learn masks a credential, as an endpoint does with each credential that it sends.
func (t Tap) Learn(credential config.Secret) { t.s.Learn(credential) }
func (t Tap) Show(m gateway.Tapped)          { t.record(m) }
func (t Tap) Close()                         { t.close() }

// Kept returns the numbers of queued and of dropped messages.
func (t Tap) Kept() (waits, dropped int) { return len(t.queue), int(t.dropped.Load()) }

// ReadTokens reads a file of tokens at the start, with a time limit for a pipe.
func ReadTokens(ctx context.Context, path string, wait time.Duration) error {
	return (&tokenSource{file: path, s: show.New(nil, io.Discard, io.Discard), wait: wait}).read(ctx)
}

// CanonicalURL returns the form of an address that is compared with the audiences of tokens.
var CanonicalURL = canonicalURL
