package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/locked"
	"github.com/indusagi/indus/internal/locked/install"
	"github.com/indusagi/indus/internal/registry"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

func newOutdated(s show.Streams) *cobra.Command {
	var f findFlags
	cmd := command.New(s, f.outdated, cobra.Command{
		Use: "outdated", SuggestFor: []string{"updates", "upgrade", "update"}, ValidArgsFunction: cobra.NoFileCompletions,
		Short: "Compare pinned versions with a registry", Long: outdatedHelp,
	})
	f.addSource(cmd)
	cmd.Flags().BoolVar(&f.asJSON, "json", false,
		`print a JSON array: server, pinned, newest, entry, state ("current", "outdated", "deprecated" or "gone"),
		file, line`)
	return cmd
}

const outdatedHelp = `Compare the versions of configured servers with the newest versions in their registry.
Nothing is written and nothing is started. Rows with "$from" are compared, which indus mcp
add --from writes, and rows that are locked: indus mcp lock.

A session:
  $ indus mcp outdated
  SERVER               PINNED  NEWEST  STATE     ENTRY
  airtable-mcp-server  1.7.2   1.7.3   outdated  io.github.domdomegg/airtab…
  $ indus mcp add airtable-mcp-server --force \
      --from io.github.domdomegg/airtable-mcp-server

Exit codes:
  0    ok, also if servers are outdated
  1    a registry sent a wrong answer
  2    usage: flags and files
  4    a registry cannot be reached
  130  interrupted`

// pinnedRow is a server in the output of outdated --json.
type pinnedRow struct {
	Server string `json:"server"`
	Pinned string `json:"pinned"`
	Newest string `json:"newest,omitempty"`
	Entry  string `json:"entry"`
	State  string `json:"state"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

func (f *findFlags) outdated(ctx context.Context, _ []string, s show.Streams) error {
	c, err := f.ReadDry(ctx)
	if err != nil {
		return err
	}
	clients, err := registryClients(c, f.registry)
	if err != nil {
		return err
	}
	rows, err := lockedRows(ctx, c, s)
	if err != nil {
		return err
	}
	unknown := 0
	for _, o := range originsOf(c) {
		if slices.ContainsFunc(rows, func(r pinnedRow) bool { return r.Server == o.id }) {
			continue
		}
		if o.name == "" {
			unknown++
			continue
		}
		asked := slices.DeleteFunc(slices.Clone(clients), func(c *registry.Client) bool {
			return o.registry != "" && o.registry != c.String()
		})
		if len(asked) == 0 {
			s.Reportf("%s: not compared, because its \"$from\" names another registry: add --registry %s, or write it into "+
				"\"registries\"", o.id, show.ShellWord(o.registry))
			continue
		}
		row := pinnedRow{Server: o.id, Pinned: o.version, Entry: o.name, State: "current", File: o.row.File, Line: o.row.Line}
		e, _, err := findEntry(ctx, asked, o.name, "latest", s)
		switch {
		case errors.Is(err, registry.ErrNoEntry):
			row.State = "gone"
		case err != nil:
			return err
		default:
			row.compare(e, o.json)
		}
		rows = append(rows, row)
	}
	if unknown > 0 {
		s.Reportf("%s: not compared, because there is neither \"$from\" nor \"lock\" in the row",
			show.Count(unknown, "server"))
	}
	if f.asJSON {
		return s.WriteIndented(rows)
	}
	var table show.Table
	table.Add("SERVER", "PINNED", "NEWEST", "STATE", "ENTRY")
	for _, r := range rows {
		table.Add(r.Server, r.Pinned, r.Newest, r.State, r.Entry)
	}
	return s.PrintTable(&table, "no server was compared with a registry")
}

// lockedRows compares the servers that are locked with the newest versions of their packages.
func lockedRows(ctx context.Context, c *mcpconfig.Config, s show.Streams) ([]pinnedRow, error) {
	rows, installer := []pinnedRow{}, newInstaller()
	for _, r := range c.Rows {
		t, ok := r.Server.Transport.(config.Stdio)
		if !ok || r.State != mcpconfig.Active || t.Locked == nil || t.Locked.Problem != "" {
			continue
		}
		file, err := locked.Read(locked.Path(r.File))
		if err != nil {
			return nil, err
		}
		e := file.Servers[r.Server.ID]
		row := pinnedRow{
			Server: r.Server.ID, Pinned: e.Version, Entry: string(e.Ecosystem) + ":" + e.Package, State: "current",
			File: r.File, Line: r.Line,
		}
		stop := s.Waiting("asking the registry for " + e.Package)
		row.Newest, err = installer.Newest(ctx, e.Ecosystem, e.Package)
		stop()
		switch {
		case errors.Is(err, install.ErrGone):
			row.State = "gone"
		case err != nil:
			return nil, &command.ExitError{Code: command.ExitUnreachable, Err: err}
		case row.Newest != row.Pinned:
			row.State = "outdated"
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// compare sets the versions: those of the package that the row runs, or else those of the entry.
func (r *pinnedRow) compare(e *registry.Entry, row []byte) {
	r.Newest = e.Version
	var config struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	if json.Unmarshal(row, &config) == nil {
		if pinned, newest, ok := e.Pinned(config.Command, config.Args); ok {
			r.Pinned, r.Newest = pinned, newest
		}
	}
	switch {
	case strings.TrimPrefix(cmp.Or(r.Pinned, "-"), "v") != strings.TrimPrefix(r.Newest, "v"):
		r.State = "outdated"
	case e.Status == "deprecated":
		r.State = "deprecated"
	}
}
