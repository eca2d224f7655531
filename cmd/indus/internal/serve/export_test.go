package serve

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop"
	"github.com/spf13/cobra"
)

// TellEvents writes lines about events.
func TellEvents(err io.Writer) func(interop.Event) {
	return reportEvents(show.New(nil, io.Discard, err))
}

// Follower follows one file, a look at a time.
type Follower struct{ *follower }

// Follow serves what the file says, and reports on err. The gateway is the caller's to close.
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
	w := &follower{flags: flags, s: s, local: local, signIns: signin.Open(s), gateway: gateway.New(ctx, c.Servers(), nil)}
	w.begin(c, began)
	return &Follower{w}, w.gateway, nil
}

// Look is what happens once a second.
func (f *Follower) Look(ctx context.Context) { f.tick(ctx) }

// Tap writes what it is shown into a file.
type Tap struct{ *tap }

// OpenTap begins a file of so many bytes at most.
func OpenTap(path string, most int64, err io.Writer) (Tap, error) {
	t, fault := openTap(path, show.New(nil, io.Discard, err))
	if fault == nil {
		t.most = most
	}
	return Tap{t}, fault
}

// StuckTap is one with room for so many messages that never writes.
func StuckTap(room int) Tap { return Tap{&tap{queue: make(chan tapLine, room)}} }

// MaxTapQueue is what has room in a tap.
const MaxTapQueue = maxTapQueue

// Unstick has it write into a file.
func (t Tap) Unstick(path string, err io.Writer) error {
	t.path, t.most, t.s = path, maxTapFile, show.New(nil, io.Discard, err)
	fault := t.open()
	t.written.Go(t.write)
	return fault
}

// Hide is what serve does before it shows anything.
func (t Tap) Hide(servers ...interop.Server) { signin.Open(t.s).Hide(servers...) }

// Learn is what an endpoint does with each credential that it sends.
func (t Tap) Learn(credential interop.Secret) { t.s.Learn(credential) }
func (t Tap) Show(m gateway.Tapped)           { t.show(m) }
func (t Tap) Close()                          { t.close() }

// Kept is how much waits, and how much was left out.
func (t Tap) Kept() (waits, dropped int) { return len(t.queue), int(t.dropped.Load()) }

// ReadTokens reads a file of tokens at the start, and waits so long for a pipe.
func ReadTokens(ctx context.Context, path string, wait time.Duration) error {
	return (&tokenSource{file: path, s: show.New(nil, io.Discard, io.Discard), wait: wait}).read(ctx)
}

// CanonicalURL is the form of an address that audiences of tokens are compared with.
var CanonicalURL = canonicalURL
