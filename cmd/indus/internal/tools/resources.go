package tools

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop"
	"github.com/spf13/cobra"
)

const resourcesHelp = `List the resources of every configured server, or of some: the URI by which "indus mcp
read" takes each, its type and its description. A URI with {…} is a template; "indus
mcp complete" may know values for its variables.

A session:
  $ indus mcp resources --mcp servers.json
  everything  7 resources, 2 templates
    demo://resource/static/document/architecture.md  text/markdown
        Static document file exposed from /docs: architecture.md
    demo://resource/dynamic/text/{resourceId}  text/plain
    …`

// resourceRow is a resource or a template in the output of --json.
type resourceRow struct {
	Server      string          `json:"server"`
	URI         string          `json:"uri,omitempty"`
	Resource    json.RawMessage `json:"resource,omitempty"`
	URITemplate string          `json:"uriTemplate,omitempty"`
	Template    json.RawMessage `json:"template,omitempty"`
}

func newResources(s show.Streams) *cobra.Command {
	return newBesideList(s, besideList{
		kinds: []command.BesideKind{command.Resources, command.Templates},
		json: func(r command.Beside) any {
			if r.URITemplate != "" {
				return resourceRow{Server: r.Server, URITemplate: r.URITemplate, Template: r.Raw}
			}
			return resourceRow{Server: r.Server, URI: r.URI, Resource: r.Raw}
		},
		title: func(r command.Beside) string { return strings.TrimSpace(r.URI + r.URITemplate + "  " + r.MimeType) },
		count: func(rows []command.Beside) string {
			resources := slices.DeleteFunc(slices.Clone(rows), func(r command.Beside) bool { return r.URITemplate != "" })
			return show.Count(len(resources), "resource") + ", " + show.Count(len(rows)-len(resources), "template")
		},
	}, `print a JSON array with one object per resource: server, and uri and resource, or uriTemplate and template: as its
		server wrote it`,
		cobra.Command{
			Use: "resources [SERVER]...", Short: "List the resources of every server, or of some", Long: resourcesHelp,
		})
}

type readFlags struct {
	besideFlags
	server, file string
}

func newRead(s show.Streams) *cobra.Command {
	var f readFlags
	cmd := command.New(s, f.read, cobra.Command{
		Use: "read URI", Short: "Read a resource", Long: readHelp, ValidArgsFunction: cobra.NoFileCompletions,
		Args: command.Needs(1, "a URI: indus mcp resources lists them", "URI"),
	})
	f.addServerFlag(cmd, &f.server, "SERVER  the server that has it; needed if several servers may have it")
	cmd.Flags().StringVarP(&f.file, "output", "o", "", "FILE  write it to a file, whatever its type")
	f.add(cmd, rawJSONHelp)
	return cmd
}

const readHelp = `Read a resource, by a URI that "indus mcp resources" shows or that a template there
makes, and print it: as it is in a pipe, and on a terminal text alone.

A session:
  $ indus mcp read demo://resource/dynamic/text/1
  Resource 1: This is a plaintext resource created at 10:03:41 AM
  $ indus mcp read demo://resource/dynamic/blob/1 -o one.bin`

// codeNotFound is the error code for a missing resource from servers before MCP 2026-07-28.
const codeNotFound = -32002

func (f *readFlags) read(ctx context.Context, args []string, s show.Streams) error {
	if f.asJSON && f.file != "" {
		return command.Exclude("--json", "--output")
	}
	uri := args[0]
	b, server, err := f.ownerOf(ctx, uri, f.server, s)
	if err != nil {
		return err
	}
	defer b.Close()
	result, err := command.Ask(ctx, b.Fleet, server, "resources/read", map[string]string{"uri": uri})
	if rpc, ok := errors.AsType[*interop.RPCError](err); ok && (rpc.Code == interop.CodeInvalidParams ||
		rpc.Code == codeNotFound) {
		return &command.ExitError{Err: command.Explain(err), Try: "indus mcp resources" + f.RepeatPaths() + " lists them"}
	}
	if err != nil {
		return command.Explain(err)
	}
	if f.asJSON {
		return s.WriteJSON(result)
	}
	var got struct{ Contents []show.Resource }
	if err := json.Unmarshal(result, &got); err != nil {
		return interop.NewFault(interop.Protocol, server, "resources/read", err)
	}
	_, person := show.Terminal(s.Out)
	person = person && f.file == ""
	var all []byte
	for _, c := range got.Contents {
		switch {
		case c.Text != nil && person:
			err = s.WriteText(*c.Text)
		case c.Text != nil:
			all = append(all, *c.Text...)
		case person:
			s.Reportf("it is binary: a pipe takes it, or -o FILE")
			err = s.WriteText(show.MediaLabel("resource", c.URI, c.MimeType, show.DecodedSize(c.Blob)))
		default:
			var bytes []byte
			if bytes, err = base64.StdEncoding.DecodeString(c.Blob); err != nil {
				err = interop.NewFault(interop.Protocol, server, "resources/read", fmt.Errorf("its blob is no base64: %w", err))
			}
			all = append(all, bytes...)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case person:
		return nil
	case f.file != "":
		return command.AsUsage(os.WriteFile(f.file, all, 0o666))
	}
	_, err = s.Out.Write(all)
	return err
}

// ownerOf returns the server of a URI: the named server, the server that lists the URI, the server with a matching
// template, or the only server with resources. The caller closes the result.
func (f *besideFlags) ownerOf(ctx context.Context, uri, named string, s show.Streams) (*besideServers, string, error) {
	var words []string
	if named != "" {
		words = []string{named}
	}
	servers, err := f.Choose(ctx, words, command.IsServer, s)
	if err != nil {
		return nil, "", err
	}
	b, err := f.connect(ctx, servers, s)
	if err != nil {
		return nil, "", err
	}
	server, err := b.owner(ctx, uri, named, s)
	if err != nil {
		b.Close()
		return nil, "", err
	}
	return b, server, nil
}

func (b *besideServers) owner(ctx context.Context, uri, named string, s show.Streams) (string, error) {
	if named != "" {
		if b.down != nil {
			return "", command.Said(b.down)
		}
		return named, nil
	}
	rows, err := b.listAll(ctx, s, command.Resources, command.Templates)
	if err != nil {
		return "", err
	}
	matches := func(r command.Beside) bool { // compares the text before the first variable of the template
		before, _, variable := strings.Cut(r.URITemplate, "{")
		return variable && before != "" && strings.HasPrefix(uri, before) || r.URITemplate == uri
	}
	for _, has := range []func(command.Beside) bool{
		func(r command.Beside) bool { return r.URI == uri && uri != "" }, matches, func(command.Beside) bool { return true },
	} {
		var found []string
		for _, r := range rows {
			if has(r) && !slices.Contains(found, r.Server) {
				found = append(found, r.Server)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return "", command.Usagef("%s may have %q: name one with --server", strings.Join(found, ", "), uri)
		}
	}
	return "", errors.New("no server has resources")
}
