package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/registry"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

type findFlags struct {
	command.ConfigFlags
	registry, cursor string
	limit            int
	asJSON           bool
}

// registryHelp is the usage of --registry.
const registryHelp = `URL  the MCP registry to ask (default: "registries" of the configuration, or
		the official registry)`

func newFind(s show.Streams) *cobra.Command {
	var f findFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "find [WORD]...", SuggestFor: []string{"search", "browse", "registry"},
		Short: "Search a registry for servers", Long: findHelp, ValidArgsFunction: cobra.NoFileCompletions,
	})
	f.addSource(cmd)
	cmd.Flags().StringVar(&f.cursor, "cursor", "", "CURSOR  go on where the last search ended, which printed CURSOR")
	cmd.Flags().IntVar(&f.limit, "limit", 20, "N  show about N entries, at most 1000")
	cmd.Flags().BoolVar(&f.asJSON, "json", false,
		`print a JSON object: entries [{registry, name, version, title, description, kinds, status, like}], cursor`)
	return cmd
}

// addSource adds the flags that select the registries.
func (f *findFlags) addSource(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.registry, "registry", "", registryHelp)
	cmd.Flags().Var(command.Listed(&f.Paths), "mcp", `PATH  the configuration, with its "registries" (default: the
		working directory, then the user's own files)`)
}

const findHelp = `Search MCP registries for servers. Nothing is written and nothing is started. Each WORD
must occur in the name, the title or the description of an entry. Entries with a word in
the last part of the name come first.

Any person can publish an entry. "like" marks a name that resembles the name of another
publisher's entry, or of a server that you have.

A session:
  $ indus mcp find airtable
  NAME                                     VERSION  DESCRIPTION
  io.github.domdomegg/airtable-mcp-server  1.7.3    Read and write acc…
  $ indus mcp add --from io.github.domdomegg/airtable-mcp-server

Exit codes:
  0    ok, also if nothing was found
  1    a registry sent a wrong answer
  2    usage: flags and files
  4    a registry cannot be reached
  130  interrupted`

// foundEntry is an entry in the output of find --json.
type foundEntry struct {
	Registry    string   `json:"registry"`
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description"`
	Kinds       []string `json:"kinds"`
	Status      string   `json:"status,omitempty"`
	Like        string   `json:"like,omitempty"`
}

func (f *findFlags) run(ctx context.Context, words []string, s show.Streams) error {
	if f.limit < 1 || f.limit > 1000 {
		return command.Usagef("--limit takes a number from 1 to 1000")
	}
	c, err := f.ReadDry(ctx)
	if err != nil {
		return err
	}
	clients, err := registryClients(c, f.registry)
	if err == nil && f.cursor != "" && len(clients) > 1 {
		err = command.Usagef("--cursor needs --registry: each registry has its own cursors")
	}
	if err != nil {
		return err
	}
	entries, last := []foundEntry{}, ""
	origins := originsOf(c)
	for _, r := range clients {
		stop := s.Waiting("searching " + r.String())
		found, err := r.Search(ctx, registry.Query{Words: words, Cursor: f.cursor, Limit: f.limit})
		stop()
		if err != nil {
			return registryFault(err)
		}
		for _, e := range found.Entries {
			entries = append(entries, foundEntry{
				r.String(), e.Name, e.Version, show.Clean(e.Title), show.Clean(e.Description), kindsOf(e), show.Clean(e.Status),
				resembles(e, origins, found.Entries),
			})
		}
		if found.Invalid > 0 {
			s.Reportf("%s: entries left out because they are not valid: %d", r, found.Invalid)
		}
		if last = found.Cursor; last != "" && !f.asJSON {
			s.Reportf("%s has more: add --registry %s --cursor %s", r, show.ShellWord(r.String()),
				show.ShellWord(show.Clean(found.Cursor)))
		}
	}
	if f.asJSON {
		if len(clients) > 1 {
			last = ""
		}
		return s.WriteIndented(map[string]any{"entries": entries, "cursor": last})
	}
	return f.print(entries, s)
}

func (f *findFlags) print(entries []foundEntry, s show.Streams) error {
	table := show.Table{Spare: []string{"KINDS"}}
	table.Add("NAME", "VERSION", "KINDS", "DESCRIPTION")
	for _, e := range entries {
		about := show.Summary(e.Description)
		if e.Status == "deprecated" {
			about = "deprecated: " + about
		}
		if e.Like != "" {
			about = "like " + e.Like + ": " + about
		}
		table.Add(e.Name, text.Clip(e.Version, 40), strings.Join(e.Kinds, ", "), about)
	}
	return s.PrintTable(&table, "nothing was found")
}

// kinds returns the values of --kind.
func kinds() []string { return []string{"npm", "pypi", "oci", "mcpb", "http", "sse"} }

// kindsOf returns the supported kinds of an entry.
func kindsOf(e *registry.Entry) []string {
	out := []string{}
	for _, o := range e.Offers() {
		if slices.Contains(kinds(), o.Kind) && !slices.Contains(out, o.Kind) {
			out = append(out, o.Kind)
		}
	}
	return out
}

// registryClients returns clients for the address, or else for the registries of a configuration.
func registryClients(c *mcpconfig.Config, address string) (clients []*registry.Client, err error) {
	addresses := []string{registry.Official}
	switch r := c.Registries; {
	case address != "":
		addresses = []string{address}
	case r != nil && r.Broken:
		return nil, command.Usagef("%s:%d: \"registries\" cannot be read: indus mcp ls --offline has the reason",
			r.File, r.Line)
	case r != nil:
		addresses = r.URLs
	}
	for _, a := range addresses {
		client, err := registry.New(a)
		if err != nil {
			return nil, command.AsUsage(err)
		}
		clients = append(clients, client)
	}
	return clients, nil
}

// registryFault returns an error of a registry with its exit code and advice.
func registryFault(err error) error {
	if registry.IsOffline(err) {
		return &command.ExitError{
			Code: command.ExitUnreachable, Err: err, Try: "are you offline? --registry and \"registries\" name another registry",
		}
	}
	return err
}

// origin is a configured server, and the entry that its row was written from.
type origin struct {
	id, name, version string
	registry          string // its address; "" is any of the asked ones
	row               mcpconfig.Row
	json              []byte
}

// originKey is the key of a row that names its entry. It is a comment to all other readers.
const originKey = "$from"

const ofRegistry = " of " // between an entry and its registry

// originText returns the value of originKey: name@version for an entry of the official registry. Any other registry is
// named too: the official one need not learn the names of its entries.
func originText(e *registry.Entry, source string) string {
	entry := e.Name + "@" + e.Version
	if source != registry.Official {
		entry += ofRegistry + source
	}
	return entry
}

func originsOf(c *mcpconfig.Config) (all []origin) {
	for _, r := range c.Rows {
		d, _ := c.Definition(r)
		from, _ := wire.Lookup(d.JSON, originKey)
		entry, _ := wire.Unquote(from)
		o := origin{id: r.Server.ID, row: r, json: d.JSON}
		entry, o.registry, _ = strings.Cut(entry, ofRegistry)
		if o.name, o.version, _ = strings.Cut(entry, "@"); !registry.IsName(o.name) {
			o.name = ""
		}
		all = append(all, o)
	}
	return all
}

// resembles returns the name that an entry could be mistaken for, or "": a configured server, or an entry of another
// publisher.
func resembles(e *registry.Entry, origins []origin, others []*registry.Entry) string {
	for _, o := range origins {
		switch {
		case o.name == e.Name:
			return ""
		case o.name != "" && isLookalike(e.Name, o.name):
			return fmt.Sprintf("%s (your server %s)", o.name, o.id)
		case o.id == e.ShortName() || isNear(o.id, e.ShortName()):
			return "your server " + o.id
		}
	}
	for _, o := range others {
		if isLookalike(e.Name, o.Name) {
			return o.Name
		}
	}
	return ""
}

// isLookalike reports whether two names of entries are alike and have different publishers.
func isLookalike(a, b string) bool {
	publisher, _, _ := strings.Cut(a, "/")
	other, _, _ := strings.Cut(b, "/")
	return publisher != other && isNear(a, b)
}

// isNear reports whether two names differ in a few letters.
func isNear(a, b string) bool {
	shorter, longer := min(len(a), len(b)), max(len(a), len(b))
	return a != b && longer-shorter <= 3 && len(text.Nearest(a, []string{b}, 1)) > 0
}

// findEntry returns an entry, NAME or NAME@VERSION, of the first registry that has it. A registry that cannot be asked
// ends the search: otherwise a public registry could answer for a private one that is down.
func findEntry(
	ctx context.Context, clients []*registry.Client, name, version string, s show.Streams,
) (*registry.Entry, string, error) {
	if !registry.IsName(name) {
		return nil, "", command.Usagef("%q is no entry of a registry, such as io.github.user/server@1.0.0", name)
	}
	var missing error
	for _, c := range clients {
		stop := s.Waiting("asking " + c.String() + " for " + name)
		e, err := c.Entry(ctx, name, version)
		stop()
		if err == nil {
			return e, c.String(), nil
		}
		if !errors.Is(err, registry.ErrNoEntry) {
			return nil, "", registryFault(err)
		}
		missing = err
	}
	return nil, "", fmt.Errorf("%s@%s: %w; indus mcp find searches for entries", name, version, missing)
}
