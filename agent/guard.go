package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/toolbox"
)

// Ask is a call that wants permission.
type Ask struct {
	// Tool is the tool as it is now. Only Name is set where the source does not list it, because its server is not
	// connected yet, or it is held back.
	Tool toolbox.Descriptor
	Call toolbox.Call
}

// Listed reports whether it is known what the tool is, and not only what it is called.
func (a Ask) Listed() bool { return a.Tool.Tool != "" }

// isSame reports whether two asks are about a tool that is the same.
func (a Ask) isSame(o Ask) bool {
	return bytes.Equal(identity(a.Tool), identity(o.Tool))
}

// Guard wraps a source: permit sees each call before it runs. nil lets it run; an error refuses it, and the model is told
// its text. A tool that is no longer what permit was shown does not run. A name that nobody can have is asked nobody about.
//
// Wrap what has the tools, not what stands in their place: of package catalog's four, one would be asked for all
// that is behind them.
func Guard(src toolbox.Source, permit func(context.Context, Ask) error) toolbox.Source {
	return &guarded{src, permit}
}

type guarded struct {
	toolbox.Source // its Snapshot and Watch
	permit         func(context.Context, Ask) error
}

// Do implements [toolbox.Source].
func (g *guarded) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	asked, ok := g.find(c)
	if !ok {
		return nil, &toolbox.UnknownTool{Name: c.Name}
	}
	if err := g.permit(ctx, asked); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s did not run: it was cancelled while it waited for permission (%w)", c.Name, ctx.Err())
		}
		return toolbox.ErrorResult(fmt.Sprintf("%s did not run: %v", c.Name, err)), nil
	}
	if now, _ := g.find(c); !now.isSame(asked) {
		return toolbox.ErrorResult(c.Name + " did not run: the tool changed while permission was asked for. " +
			"Read its description and its parameters again, then call it again if it is still what you need."), nil
	}
	return g.Source.Do(ctx, c)
}

// find is the call as it is asked for, unless nobody has a tool of that name.
func (g *guarded) find(c toolbox.Call) (Ask, bool) {
	s := g.Snapshot(c.Caller)
	if s != nil {
		for _, d := range s.Tools {
			if d.Name == c.Name {
				return Ask{d, c}, true
			}
		}
	}
	return Ask{toolbox.Descriptor{Name: c.Name}, c}, s.MayOwn(c.Name)
}

// Fingerprint is a hash of all that a tool's owner says of it. A [Memory] keeps it beside the name: a tool
// whose fingerprint is another one is not the tool that was allowed.
func Fingerprint(d toolbox.Descriptor) string {
	sum := sha256.Sum256(identity(d))
	return hex.EncodeToString(sum[:])
}

// identity is all that a tool's owner says of it, in bytes that no other tool has.
func identity(d toolbox.Descriptor) []byte {
	annotations, _ := json.Marshal(d.Annotations) // it has nothing that cannot be written
	var all []byte
	for _, field := range [][]byte{
		[]byte(d.Server), []byte(d.Tool), []byte(d.Name), []byte(d.Title), []byte(d.Description), d.Schema, d.Output,
		annotations, []byte(d.Wire.Format), d.Wire.JSON,
	} {
		all = binary.AppendUvarint(all, uint64(len(field)))
		all = append(all, field...)
	}
	return all
}
