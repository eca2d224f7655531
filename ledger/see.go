package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// The description of a server that a command only saw has two more members: the tools of the server and their format.
// [State.Known] returns these tools until a run enrolls tools of the server.
const (
	seenTools  = "tools"
	seenFormat = "format"
)

// See stores the tools and the descriptions of the servers that a command is connected to, so that the next start is
// warm. It enrolls no server and approves no tool. It writes nothing that the log already has. It leaves out servers
// with a connection for each principal.
func (f *File) See(ctx context.Context, fleet *interop.Fleet) error {
	entries, err := f.Read(ctx, 0)
	if err != nil {
		return err
	}
	state := StateOf(entries)
	known, shown := state.Known(fleet.Servers()), fleet.Snapshot("")
	run := string(NewKey())
	var news []Entry
	for _, st := range fleet.Status() {
		e, err := fleet.Endpoint(st.Server, "")
		if err != nil || !st.Phase.Usable() || st.Fault != nil || e.Server().Pool.Per == config.PerPrincipal {
			continue
		}
		var tools []toolbox.Wire
		for _, d := range shown.Tools {
			if d.Server == st.Server {
				tools = append(tools, d.Wire)
			}
		}
		if raw := state.describeSeen(e, tools, known(st.Server)); raw != nil {
			c := &Capability{Server: st.Server, Wire: toolbox.Wire{Format: describeFormat, JSON: raw}}
			news = append(news, Entry{
				Op: Describe, Server: st.Server, Config: Fingerprint(e.Server()), Capability: c, Run: run, Note: noteSeen,
			})
		}
	}
	_, err = f.Append(ctx, news...)
	return err
}

// describeSeen returns the description of a server with its tools. It returns nil if the log has all of it, or if it is
// too long.
func (s *State) describeSeen(e *interop.Endpoint, tools, known []toolbox.Wire) json.RawMessage {
	previous := json.RawMessage(`{}`)
	h := s.historyOf(e.Server())
	if raw := h.descriptionJSON(); wire.Valid(raw) {
		previous = raw
	}
	edits := []wire.Edit{
		{Key: "capabilities", Value: e.Capabilities()}, {Key: "instructions"}, {Key: "info", Value: e.ServerInfo()},
	}
	if instructions := e.Instructions(); instructions != "" {
		edits[1].Value = wire.Quote(instructions)
	}
	if _, ok := wire.Lookup(previous, "lists"); !ok {
		edits = append(edits, wire.Edit{Key: "lists", Value: json.RawMessage(`{}`)})
	}
	same := slices.EqualFunc(tools, known, func(a, b toolbox.Wire) bool {
		return a.Format == b.Format && bytes.Equal(a.JSON, b.JSON)
	})
	if !same || h == nil || h.seenLater || len(tools) == 0 {
		edits = append(edits, wire.Edit{Key: seenTools, Value: rowsOf(tools)})
		if len(tools) > 0 {
			edits = append(edits, wire.Edit{Key: seenFormat, Value: wire.Quote(tools[0].Format)})
		}
	}
	rewritten, err := wire.Rewrite(previous, edits...)
	if err != nil || bytes.Equal(rewritten, previous) || len(rewritten) > maxBody {
		return nil
	}
	return rewritten
}

// rowsOf returns tool objects as an array.
func rowsOf(tools []toolbox.Wire) json.RawMessage {
	b := []byte("[")
	for i, t := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, t.JSON...)
	}
	return append(b, ']')
}

// tools returns the last list of tools: of the run, or of a description that a command wrote later.
func (h *serverHistory) tools() (tools []toolbox.Wire) {
	description := h.descriptionJSON()
	list, isSeen := wire.Lookup(description, seenTools)
	if !isSeen || !h.seenLater {
		for _, c := range Reduce(h.events).Capabilities() {
			if len(c.Wire.JSON) > 0 {
				tools = append(tools, c.Wire)
			}
		}
		return tools
	}
	format, _ := wire.Lookup(description, seenFormat)
	text, _ := wire.Unquote(format)
	rows, _ := wire.Elements(list)
	for _, row := range rows {
		tools = append(tools, toolbox.Wire{Format: text, JSON: row})
	}
	return tools
}
