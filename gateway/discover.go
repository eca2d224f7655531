package gateway

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// discover is what the view can do, and how its servers say that they are used.
func (v *view) discover(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	raw, err := v.tools.Handle(ctx, m, nil)
	if err != nil {
		return nil, err
	}
	return wire.Rewrite(raw, wire.Edit{Key: "capabilities", Value: v.capabilities()})
}

// capabilities are those of all servers. Prompts and resources are declared even where no server has any yet:
// a legacy client is told once.
func (v *view) capabilities() json.RawMessage {
	b := []byte(`{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}`)
	for _, key := range []string{"completions", "logging"} {
		if slices.ContainsFunc(v.servers(), func(s string) bool { return v.gateway.declares(s, []string{key}) }) {
			b = append(append(append(b, `,"`...), key...), `":{}`...)
		}
	}
	if extensions := v.extensions(); extensions != nil {
		b = append(append(b, `,"extensions":`...), extensions...)
	}
	return append(b, '}')
}

// extensions are those of the servers that the table knows, with what any of them says of one.
func (v *view) extensions() json.RawMessage {
	var edits []wire.Edit
	for _, key := range []string{extTasks, extSkills, extApps} {
		value := json.RawMessage(nil)
		for _, server := range v.servers() {
			all, _ := wire.Lookup(v.gateway.says(server).capabilities, "extensions")
			value = united(value, all, key)
		}
		if value != nil {
			edits = append(edits, wire.Edit{Key: key, Value: value})
		}
	}
	if edits == nil {
		return nil
	}
	out, err := wire.Rewrite(json.RawMessage(`{}`), edits...)
	if err != nil {
		return nil
	}
	return out
}

// united is value with the members of all's key that it lacks, or that are true there.
func united(value, all json.RawMessage, key string) json.RawMessage {
	more, ok := wire.Lookup(all, key)
	if !ok || len(more) == 0 || more[0] != '{' {
		return value
	}
	if value == nil {
		return more
	}
	members, err := wire.Members(more)
	if err != nil {
		return value
	}
	for i := range members {
		m := &members[i]
		if _, has := wire.Lookup(value, m.Key); has && !protocol.Declares(all, key, m.Key) {
			continue
		}
		if next, err := wire.Rewrite(value, wire.Edit{Key: m.Key, Value: m.Value}); err == nil {
			value = next
		}
	}
	return value
}
