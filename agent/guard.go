package agent

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/toolbox"
)

// Ask is a call that needs permission.
type Ask struct {
	// Tool is the tool as its source lists it now. If the source does not list it, only Name is set. This happens when
	// its server is not connected yet, or when the tool is held back.
	Tool toolbox.Descriptor
	Call toolbox.Call
}

// Listed reports whether the source lists the tool, so that more than its name is known.
func (a Ask) Listed() bool { return a.Tool.Tool != "" }

// Guard wraps a source and calls permit before each call runs. If permit returns nil, the call runs. If it returns an
// error, the call is refused, and the model receives the text of the error. If the tool changed while permit ran, the
// call does not run. Names that no source can own are refused without a call of permit.
//
// Wrap the source of the real tools, not a catalog in front of it. Around package catalog, one permission for its tool
// would allow all tools behind it.
func Guard(src toolbox.Source, permit func(context.Context, Ask) error) toolbox.Source {
	return &guarded{src, permit}
}

type guarded struct {
	toolbox.Source // for its Snapshot and Watch
	permit         func(context.Context, Ask) error
}

// Do implements [toolbox.Source].
func (g *guarded) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	ask, ok := g.lookUp(c)
	if !ok {
		return nil, &toolbox.UnknownTool{Name: c.Name}
	}
	if err := g.permit(ctx, ask); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s did not run: it was cancelled while it waited for permission (%w)", c.Name, ctx.Err())
		}
		return toolbox.ErrorResult(fmt.Sprintf("%s did not run: %v", c.Name, err)), nil
	}
	if current, _ := g.lookUp(c); Fingerprint(current.Tool) != Fingerprint(ask.Tool) {
		return toolbox.ErrorResult(c.Name + " did not run: the tool changed while permission was asked for. " +
			"Read its description and its parameters again, then call it again if it is still what you need."), nil
	}
	return g.Source.Do(ctx, c)
}

// lookUp returns the ask for a call. It reports false if no tool can have that name.
func (g *guarded) lookUp(c toolbox.Call) (Ask, bool) {
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

// Fingerprint returns a hash of the whole definition of a tool. A [Memory] stores it beside the name. If the
// fingerprint differs, the tool is not the one that was allowed.
func Fingerprint(d toolbox.Descriptor) string {
	annotations, _ := json.Marshal(d.Annotations) // all its fields can be encoded
	var all []byte
	for _, field := range [][]byte{
		[]byte(d.Server), []byte(d.Tool), []byte(d.Name), []byte(d.Title), []byte(d.Description), d.Schema, d.Output,
		annotations, []byte(d.Wire.Format), d.Wire.JSON,
	} {
		all = binary.AppendUvarint(all, uint64(len(field))) // so that different definitions have different bytes
		all = append(all, field...)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:])
}
