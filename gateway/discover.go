package gateway

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// discover returns the capabilities of the view and the instructions of its servers.
func (v *view) discover(ctx context.Context, m interop.Message) json.RawMessage {
	server := v.scope.server
	if server != "" {
		v.awaitServer(ctx, server)
	}
	var caps json.RawMessage
	var instructions string
	if server == "" {
		caps = v.mergedCapabilities(requesterOf(ctx), m.Era)
		instructions = protocol.JoinInstructions(v.serverInstructions(requesterOf(ctx)))
	} else {
		caps, instructions = v.ownCapabilities(server)
		if r := requesterOf(ctx); r.kind.rights != nil && !v.hasPart(server, r) {
			instructions = ""
		}
	}
	o := wire.Object{}.Raw("capabilities", caps).Text("instructions", instructions)
	if v.hasPending() { // they may add to it
		o = o.Raw("ttlMs", []byte("0"))
	}
	return o.JSON()
}

// awaitServer waits until the server of a view has connected, for at most its connect timeout. An idle server is
// started if its description is not known, because a legacy client gets the capabilities only once.
func (v *view) awaitServer(ctx context.Context, server string) {
	fleet := v.gateway.attached.Fleet
	e, err := fleet.Endpoint(server, "")
	if err != nil || e.Phase().Usable() || !v.transparent && v.gateway.lists.Description(server).Capabilities != nil {
		return
	}
	if wait := protocol.Duration(e.Server().Timeouts.Connect, protocol.DefaultConnect); wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	v.gateway.lists.AwaitAnswer(ctx, server) // a server that was just added is not idle yet
	if fleet.Idle(server) && v.gateway.lists.Description(server).Capabilities == nil {
		if _, done, err := fleet.Use(ctx, server); err == nil {
			done()
		}
	}
}

// ownCapabilities returns the capabilities and instructions of the view's one server, of now or of its last connection.
// Except in a transparent view, tools always have listChanged: a new connection of the server may have other tools.
func (v *view) ownCapabilities(server string) (caps json.RawMessage, instructions string) {
	d := v.gateway.lists.Description(server)
	if d.Capabilities == nil {
		return json.RawMessage(`{"tools":{"listChanged":true}}`), ""
	}
	tools, ok := wire.Lookup(d.Capabilities, "tools")
	if !ok || v.transparent {
		return d.Capabilities, d.Instructions
	}
	if changing, err := wire.Rewrite(tools, wire.Edit{Key: "listChanged", Value: json.RawMessage("true")}); err == nil {
		tools = changing
	}
	edits := []wire.Edit{{Key: "tools", Value: tools}}
	if tasks, ok := wire.Lookup(d.Capabilities, "tasks"); ok { // the gateway does not list tasks, see tasks.go
		edits = append(edits, wire.Edit{Key: "tasks", Value: wire.Without(tasks, "list")})
	}
	if caps, err := wire.Rewrite(d.Capabilities, edits...); err == nil {
		return caps, d.Instructions
	}
	return d.Capabilities, d.Instructions
}

// serverInstructions returns the instructions of the servers. It omits servers that have nothing in the view.
func (v *view) serverInstructions(requester listRequester) []protocol.ServerInstructions {
	var all []protocol.ServerInstructions
	for _, server := range v.servers() {
		d := v.gateway.lists.Description(server)
		if d.Instructions == "" || !v.hasPart(server, requester) {
			continue
		}
		entries := "prompts and resources"
		if protocol.Has(d.Capabilities, []string{"tools"}) {
			entries = "tools"
		}
		prefix := config.Server{ID: server}.Prefixes()[0]
		all = append(all, protocol.ServerInstructions{Server: server, Kind: entries, Prefix: prefix, Text: d.Instructions})
	}
	return all
}

// mergedCapabilities returns the capabilities of all servers together. Prompts and resources are declared even if no
// server has any yet, because a legacy client gets the capabilities only once. Tasks of 2025-11-25 are declared to
// legacy clients.
func (v *view) mergedCapabilities(requester listRequester, era interop.Era) json.RawMessage {
	servers := v.servers()
	if requester.kind.rights != nil { // capabilities of hidden servers would show them
		servers = slices.DeleteFunc(slices.Clone(servers), func(s string) bool { return !v.hasPart(s, requester) })
	}
	declares := func(kind methods.NameKind, path ...string) bool { return v.anyDeclares(servers, kind, path...) }
	changing, empty := []byte(`{"listChanged":true}`), []byte("{}")
	caps := wire.Object{}.Raw("tools", changing).Raw("prompts", changing).
		Raw("resources", []byte(`{"subscribe":true,"listChanged":true}`))
	if declares(methods.ByPrompt, "completions") || declares(methods.ByURI, "completions") {
		caps = caps.Raw("completions", empty)
	}
	local := v.scope.everything && v.gateway.opts.Local != nil
	if local || declares(methods.ByTool, "logging") || declares(methods.ByPrompt, "logging") ||
		declares(methods.ByURI, "logging") {
		caps = caps.Raw("logging", empty)
	}
	if era == interop.Legacy && declares(methods.ByTool, "tasks", "requests", "tools", "call") {
		tasks := wire.Object{}.Raw("requests", []byte(`{"tools":{"call":{}}}`))
		if declares(methods.ByTool, "tasks", "cancel") {
			tasks = tasks.Raw("cancel", empty)
		}
		caps = caps.Raw("tasks", tasks.JSON())
	}
	return caps.Raw("extensions", v.extensions(servers)).JSON()
}

// anyDeclares reports whether a server with such entries in the view declares the capability at a path of keys.
func (v *view) anyDeclares(servers []string, kind methods.NameKind, path ...string) bool {
	return slices.ContainsFunc(servers, func(server string) bool {
		return v.scope.mayContain(server, kind) && v.gateway.lists.Declares(server, path)
	})
}

// extensions returns the extensions of the servers that the table knows, each with the merged settings of all servers.
func (v *view) extensions(servers []string) json.RawMessage {
	var merged wire.Object
	for _, key := range []string{methods.ExtTasks, methods.ExtSkills, methods.ExtApps} {
		kind := methods.ByTool
		if key == methods.ExtSkills {
			kind = methods.ByURI
		}
		var value json.RawMessage
		for _, server := range servers {
			if !v.scope.mayContain(server, kind) {
				continue
			}
			all, _ := wire.Lookup(v.gateway.lists.Description(server).Capabilities, "extensions")
			value = withMembers(value, all, key)
		}
		merged = merged.Raw(key, value)
	}
	if merged == nil {
		return nil
	}
	return merged.JSON()
}

// withMembers adds the members of all[key] to obj, if obj lacks them or they are true in all[key].
func withMembers(obj, all json.RawMessage, key string) json.RawMessage {
	added, ok := wire.Lookup(all, key)
	if !ok || added[0] != '{' {
		return obj
	}
	if obj == nil {
		return added
	}
	members, err := wire.Members(added)
	if err != nil {
		return obj
	}
	for _, m := range members {
		if _, has := wire.Lookup(obj, m.Key); has && string(m.Value) != "true" {
			continue
		}
		if next, err := wire.Rewrite(obj, wire.Edit{Key: m.Key, Value: m.Value}); err == nil {
			obj = next
		}
	}
	return obj
}
