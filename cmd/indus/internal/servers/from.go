package servers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/registry"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/mcpconfig"
)

// fromRegistry returns the server that an entry describes. It shows the row and its origin, and asks whether to write
// it. Nothing is started.
func (f *addFlags) fromRegistry(
	ctx context.Context, args []string, s show.Streams,
) (d mcpconfig.Definition, err error) {
	for _, name := range []string{"header", "transport", "cwd", "inherit-env"} {
		if f.cmd.Flags().Changed(name) {
			return d, command.Usagef("--%s is not for an entry of a registry: --env gives its values", name)
		}
	}
	if len(args) > 1 || f.cmd.ArgsLenAtDash() >= 0 {
		return d, command.Usagef("--from takes a NAME only: indus mcp add NAME --from ENTRY")
	}
	c, err := f.registryConfig(ctx)
	if err != nil {
		return d, err
	}
	clients, err := registryClients(c, f.registry)
	if err != nil {
		return d, err
	}
	name, version, _ := strings.Cut(f.from, "@")
	e, source, err := findEntry(ctx, clients, name, cmp.Or(version, "latest"), s)
	if err != nil {
		return d, err
	}
	d.ID = e.ShortName()
	if len(args) == 1 {
		d.ID = args[0]
	}
	if !isServerName(d.ID) {
		return d, command.Usagef("%q is no name for a server", d.ID)
	}
	p := plan{addFlags: f, entry: e, source: source, id: d.ID, streams: s, answers: s.Lines()}
	if d.JSON, err = p.row(ctx); err != nil {
		return d, err
	}
	if err := p.readExisting(ctx); err != nil {
		return d, err
	}
	d.JSON = p.withKept(d.JSON)
	return d, p.confirm(ctx, d.JSON, c)
}

// readExisting reads the row that --force replaces.
func (p *plan) readExisting(ctx context.Context) error {
	if !p.force {
		return nil
	}
	path, err := p.path()
	if err != nil {
		return err
	}
	c, err := configOf(path).ReadDry(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if r, ok := c.Find(p.id, func(r mcpconfig.Row) bool { return command.SameFile(r.File, path) }); ok {
		d, _ := c.Definition(r)
		p.existing = d.JSON
	}
	return nil
}

// withKept returns a row with the parts of the existing row that the entry does not write: its other members, variables
// and headers, and the value of the user where the entry has a variable.
func (p *plan) withKept(row json.RawMessage) json.RawMessage {
	dropped := []string{"command", "args", "url", "transport", originKey}
	if hasMember(p.existing, "url") != hasMember(row, "url") { // a process becomes a URL, or the reverse
		dropped = append(dropped, "env", "headers", "cwd", "inheritEnv", "oauth", boxField)
	}
	if hasMember(p.existing, "command") && p.defaultBox { // its sandbox stays as it is
		row, p.unboxed = withBox(row, ""), ""
	}
	return merged(p.existing, row, func(key string, old, now json.RawMessage) json.RawMessage {
		switch {
		case now == nil && slices.Contains(dropped, key):
		case (key == "env" || key == "headers") && old != nil:
			return merged(old, now, p.value)
		case now == nil:
			return old
		}
		return now
	})
}

// hasMember reports whether a row has a member.
func hasMember(row json.RawMessage, key string) bool { return memberOf(row, key) != nil }

// value returns the value of a variable or header: the one of the user, unless the entry or --env has another.
func (p *plan) value(name string, old, now json.RawMessage) json.RawMessage {
	isGiven := slices.ContainsFunc(p.env, func(v string) bool { return v == name || strings.HasPrefix(v, name+"=") })
	isVariable := bytes.HasPrefix(now, []byte(`"${`))
	if old != nil && (now == nil || isVariable && !isGiven) {
		return old
	}
	return now
}

// merged returns an object with the members of now and then of old. choose returns the value of each, or nil for none.
// It gets nil for a value that is missing.
func merged(
	old, now json.RawMessage, choose func(key string, old, now json.RawMessage) json.RawMessage,
) json.RawMessage {
	before, _ := wire.Members(old) // none if it is no object
	after, _ := wire.Members(now)
	var out wire.Object
	for _, m := range after {
		var was json.RawMessage
		if i := slices.IndexFunc(before, func(o wire.Member) bool { return o.Key == m.Key }); i >= 0 {
			was = before[i].Value
		}
		out = out.Raw(m.Key, choose(m.Key, was, m.Value))
	}
	for _, m := range before {
		if !slices.ContainsFunc(after, func(o wire.Member) bool { return o.Key == m.Key }) {
			out = out.Raw(m.Key, choose(m.Key, m.Value, nil))
		}
	}
	return out.JSON()
}

// registryConfig reads the configuration that names the registries: the file of --mcp if it exists, or the user's own.
func (f *addFlags) registryConfig(ctx context.Context) (*mcpconfig.Config, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	file := f.file
	if _, err := os.Stat(file); err != nil {
		file = ""
	}
	return configOf(file).ReadDry(ctx)
}

// plan is a row that is made from an entry.
type plan struct {
	*addFlags
	entry   *registry.Entry
	source  string // the address of the registry
	id      string
	offer   registry.Offer
	streams show.Streams
	answers <-chan string

	existing json.RawMessage // the row that is replaced, or nil
}

// row returns the row. On a terminal, it asks for the values that are missing.
func (p *plan) row(ctx context.Context) (json.RawMessage, error) {
	values, err := p.givenValues()
	if err == nil {
		err = p.choose(ctx, values)
	}
	if err != nil {
		return nil, err
	}
	for {
		raw, err := p.offer.Row(p.id, values)
		missing, isMissing := errors.AsType[*registry.MissingError](err)
		if isMissing {
			if err = p.askValues(ctx, missing, values); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s@%s: %w", p.entry.Name, p.entry.Version, err)
		}
		row := wire.Object(bytes.TrimSuffix(raw, []byte("}")))
		return p.withSettings(row.Text(originKey, originText(p.entry, p.source)))
	}
}

// givenValues returns the values of --env. A NAME alone becomes a variable.
func (p *plan) givenValues() (map[string]string, error) {
	values := map[string]string{}
	for _, v := range p.env {
		name, value, err := envValue(v)
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	return values, nil
}

// choose selects the first package or remote that can become a row, among those of --kind. A bundle is downloaded for
// that, because its command is in it.
func (p *plan) choose(ctx context.Context, values map[string]string) error {
	var reasons []string
	for _, o := range p.entry.Offers() {
		if p.kind != "" && o.Kind != p.kind {
			continue
		}
		var err error
		if o.Kind == "mcpb" {
			p.streams.Reportf("downloading %s", text.Clip(o.Package.Identifier, 200))
			o.Bundle, err = o.Download(ctx, filepath.Join(mcpconfig.StateDir(dryOptions()), "bundles"))
		}
		if err == nil {
			_, err = o.Row(p.id, values)
		}
		if _, isMissing := errors.AsType[*registry.MissingError](err); err == nil || isMissing {
			p.offer = o
			return nil
		}
		reasons = append(reasons, cmp.Or(o.Kind, "remote")+": "+err.Error())
	}
	if len(reasons) == 0 {
		return command.Usagef("%s@%s has no package or remote of that kind: it has %s", p.entry.Name, p.entry.Version,
			cmp.Or(strings.Join(kindsOf(p.entry), ", "), "none that is supported"))
	}
	return fmt.Errorf("%s@%s cannot be used: %s", p.entry.Name, p.entry.Version, strings.Join(reasons, "; "))
}

// askValues asks for missing values.
func (p *plan) askValues(ctx context.Context, missing *registry.MissingError, values map[string]string) error {
	if !p.streams.IsAttended() {
		var flags []string
		for _, n := range missing.Inputs {
			flags = append(flags, "--env "+show.ShellWord(n.Name)+"=…")
		}
		return command.Usagef("it needs values: add %s", strings.Join(flags, " "))
	}
	for _, n := range missing.Inputs {
		question := show.Clean(n.Name)
		if n.Description != "" {
			question += " (" + show.Summary(show.Clean(n.Description)) + ")"
		}
		if len(n.Choices) > 0 {
			question += " [" + show.Summary(show.Clean(strings.Join(n.Choices, ", "))) + "]"
		}
		answer, err := p.streams.Ask(ctx, question+": ", p.answers)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if answer == "" {
			return fmt.Errorf("%q needs a value: nothing was written", n.Name)
		}
		values[n.Name] = answer
	}
	return nil
}

// confirm shows a row and its origin, and asks whether to write it. Then it writes the files of a bundle.
func (p *plan) confirm(ctx context.Context, row json.RawMessage, c *mcpconfig.Config) error {
	s, e := p.streams, p.entry
	var page show.Page
	page.Printf("%s@%s of %s\n", e.Name, e.Version, p.source)
	page.Write(show.EscapeHarmful([]byte(layoutJSON(row, "") + "\n")))
	fmt.Fprint(s.Err, page.String())
	if p.existing != nil {
		different, what := differingMembers(p.existing, row), "; -before +after:"
		if len(different) == 0 {
			what = ", which is equal"
		}
		s.Reportf("it replaces %s%s", show.ShellWord(p.id), what)
		for _, d := range different {
			s.Reportf("  %s", d)
		}
	}
	if e.Status == "deprecated" {
		s.Reportf("%s is deprecated by its publisher", e.Name)
	}
	others := slices.DeleteFunc(originsOf(c), func(o origin) bool { return o.id == p.id })
	if like := resembles(e, others, nil); like != "" {
		s.Reportf("its name resembles %s: is it the publisher that you mean?", like)
	}
	for _, name := range variablesIn(row) {
		if _, isSet := os.LookupEnv(name); isSet {
			s.Reportf("it gets your variable %s, which is set here", name)
		}
		sharing := slices.DeleteFunc(slices.Clone(others), func(o origin) bool {
			return !slices.Contains(variablesIn(o.json), name)
		})
		if len(sharing) > 0 {
			ids := show.List(show.Names(sharing, func(o origin) string { return o.id }), show.MaxNamed, "servers")
			s.Reportf("%s gets the variable %s too: if it means another value, choose another name: --env %[2]s='${NAME}'",
				ids, name)
		}
	}
	if all := p.offer.Optional(); len(all) > 0 {
		s.Reportf("it also takes %s: see --env", show.List(all, show.MaxNamed, "values"))
	}
	if rest := slices.DeleteFunc(kindsOf(e), func(k string) bool { return k == p.offer.Kind }); len(rest) > 0 {
		s.Reportf("it is also there as %s: see --kind", strings.Join(rest, ", "))
	}
	if !p.write {
		if !s.IsAttended() {
			return command.Usagef("nothing was written: add --write, or run this in a terminal")
		}
		if yes, err := s.Confirm(ctx, "write "+show.ShellWord(p.id)+"?", p.answers); err != nil && !errors.Is(err, io.EOF) {
			return err
		} else if !yes {
			return errors.New("nothing was written")
		}
	}
	if p.offer.Bundle != nil {
		return p.offer.Bundle.Unpack()
	}
	return nil
}

// variablesIn returns the names of the variables in a row, each once.
func variablesIn(row json.RawMessage) (names []string) {
	for _, m := range variableNames().FindAllStringSubmatch(string(row), -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}
