package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// BesideKind is a kind of what servers have beside their tools.
type BesideKind struct {
	capability string // under which a server declares it
	method     string // that lists it
	member     string // of the result, which has the rows
}

// The kinds.
var (
	Prompts   = BesideKind{"prompts", "prompts/list", "prompts"}
	Resources = BesideKind{"resources", "resources/list", "resources"}
	Templates = BesideKind{"resources", "resources/templates/list", "resourceTemplates"}
)

// Beside is one prompt, resource or template of a server.
type Beside struct {
	Server string          `json:"-"`
	Raw    json.RawMessage `json:"-"` // as the server wrote it

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

// Qualified is what a prompt is called beside those of other servers.
func (b Beside) Qualified() string { return interop.QualifiedName(b.Server, b.Name) }

// Ask sends a request to a server, and checks the result.
func Ask(ctx context.Context, fleet *interop.Fleet, server, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	result, err := requestOf(ctx, fleet, server, method, raw)
	if err == nil {
		err = CheckResult(server, method, result)
	}
	return result, err
}

func requestOf(ctx context.Context, fleet *interop.Fleet, server, method string, params json.RawMessage) (json.RawMessage, error) {
	result, err := fleet.Request(ctx, server, interop.Message{Method: method, Params: params})
	if err != nil {
		return nil, err
	}
	if kind, ok := wire.Lookup(result, "resultType"); ok && string(kind) != `"complete"` {
		return nil, interop.NewFault(interop.Protocol, server, method, fmt.Errorf("it answers with %s, which nobody can give here", show.Cut(string(kind), 40)))
	}
	return result, nil
}

const maxListPages = 1000 // of one list: a server whose pages have no end is left there

// ListBeside is what one server has; what it does not declare it is not asked for. rest says what was left out.
func ListBeside(ctx context.Context, fleet *interop.Fleet, server string, of BesideKind) (rows []Beside, rest string, err error) {
	e, err := fleet.Endpoint(server, "")
	if err != nil {
		return nil, "", err
	}
	if v, ok := wire.Lookup(e.Capabilities(), of.capability); !ok || string(v) == "null" {
		return nil, "", nil
	}
	pages := protocol.Pages{Method: of.method, Key: of.member, Most: maxListPages, MaxBytes: interop.MaxMessage}
	rest, err = pages.Read(func(params json.RawMessage) (json.RawMessage, error) {
		return requestOf(ctx, fleet, server, of.method, params)
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
	case refused && rpc.Code == interop.CodeMethodNotFound: // servers declare resources and have no templates
		err = nil
	case errors.As(err, &bad):
		err = interop.NewFault(interop.Protocol, server, of.method, bad)
	}
	return rows, rest, err
}
