package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// BesideKind is a kind of entry that servers list beside tools: prompts, resources or resource templates.
type BesideKind struct {
	capability string // that a server declares
	method     string // that lists the entries
	member     string // of the result, which holds the entries
}

// The kinds of entries.
var (
	Prompts   = BesideKind{"prompts", "prompts/list", "prompts"}
	Resources = BesideKind{"resources", "resources/list", "resources"}
	Templates = BesideKind{"resources", "resources/templates/list", "resourceTemplates"}
)

// Beside is one prompt, resource or template of a server.
type Beside struct {
	Server string          `json:"-"`
	Raw    json.RawMessage `json:"-"` // as received from the server

	Name        string           `json:"name"`
	Description string           `json:"description"`
	URI         string           `json:"uri"`
	URITemplate string           `json:"uriTemplate"`
	MimeType    string           `json:"mimeType"`
	Arguments   []PromptArgument `json:"arguments"`
}

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name     string `json:"name"`
	Required bool   `json:"required"`
}

// Qualified returns the name of a prompt that is unique across servers.
func (b Beside) Qualified() string { return config.QualifiedName(b.Server, b.Name) }

// OwnName returns the server's name of a prompt if Qualified was changed from it, or "".
func (b Beside) OwnName() string { return b.named().OwnName() }

// named returns the names of a prompt as the names of a tool, which follow the same rules.
func (b Beside) named() toolbox.Descriptor {
	return toolbox.Descriptor{Name: b.Qualified(), Server: b.Server, Tool: b.Name}
}

// FindPrompt returns the prompt with a name: its qualified name, or SERVER__OWN-NAME if that belongs to one prompt
// alone. If there is none, the error suggests names, or the place that lists them.
func FindPrompt(rows []Beside, name, list string) (Beside, error) {
	all := &toolbox.Snapshot{}
	for _, r := range rows {
		all.Tools = append(all.Tools, r.named())
	}
	if d, ok := all.Named(name); ok {
		i := slices.IndexFunc(rows, func(r Beside) bool { return r.Qualified() == d.Name })
		return rows[i], nil
	}
	near := (&toolbox.UnknownTool{Name: name}).Nearest(all.Tools)
	return Beside{}, Usagef("no prompt %q%s", name, cmp.Or(Suggest(near), "; "+list+" lists them"))
}

// ArgumentNames returns the names of the arguments of a prompt, with "?" behind optional ones.
func (b Beside) ArgumentNames() (names []string) {
	for _, a := range b.Arguments {
		if !a.Required {
			a.Name += "?"
		}
		names = append(names, a.Name)
	}
	return names
}

// Missing returns the required arguments of a prompt that are not given, as NAME=….
func (b Beside) Missing(given map[string]string) (missing []string) {
	for _, a := range b.Arguments {
		if _, ok := given[a.Name]; a.Required && !ok {
			missing = append(missing, a.Name+"=…")
		}
	}
	return missing
}

// Ask sends a request to a server, and checks the result.
func Ask(ctx context.Context, fleet *interop.Fleet, server, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	result, err := sendRequest(ctx, fleet, server, method, raw)
	if err == nil {
		err = CheckResult(server, method, result)
	}
	return result, err
}

func sendRequest(
	ctx context.Context, fleet *interop.Fleet, server, method string, params json.RawMessage,
) (json.RawMessage, error) {
	result, err := fleet.Request(ctx, server, interop.Message{Method: method, Params: params})
	if err != nil {
		return nil, err
	}
	if kind, ok := wire.Lookup(result, "resultType"); ok && string(kind) != `"complete"` {
		return nil, interop.NewFault(interop.Protocol, server, method,
			fmt.Errorf("it answers with %s, which cannot be answered here", show.Cut(string(kind), 40)))
	}
	return result, nil
}

const maxListPages = 1000 // per list; reading stops there if a server returns cursors without end

// ListBeside returns the entries of one kind that a server lists. If the server does not declare the capability, no
// request is sent. If the list was not read to its end, rest has the reason.
func ListBeside(
	ctx context.Context, fleet *interop.Fleet, server string, kind BesideKind,
) (rows []Beside, rest string, err error) {
	e, err := fleet.Endpoint(server, "")
	if err != nil {
		return nil, "", err
	}
	if v, ok := wire.Lookup(e.Capabilities(), kind.capability); !ok || string(v) == "null" {
		return nil, "", nil
	}
	pages := protocol.Pages{Method: kind.method, Key: kind.member, MaxPages: maxListPages, MaxBytes: interop.MaxMessage}
	rest, err = pages.Read(func(params json.RawMessage) (json.RawMessage, error) {
		return sendRequest(ctx, fleet, server, kind.method, params)
	}, func(_ []wire.Member, raws []json.RawMessage) {
		for _, raw := range raws {
			row := Beside{Server: server, Raw: raw}
			if json.Unmarshal(raw, &row) == nil {
				rows = append(rows, row)
			}
		}
	})
	var bad *protocol.PageError
	rpc, refused := errors.AsType[*interop.RPCError](err)
	switch {
	case refused && rpc.Code == interop.CodeMethodNotFound:
		// Some servers declare resources but have no method for templates.
		err = nil
	case errors.As(err, &bad):
		err = interop.NewFault(interop.Protocol, server, kind.method, bad)
	}
	return rows, rest, err
}
