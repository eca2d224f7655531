package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/box/broker"
	"github.com/indusagi/indus/internal/locked"
	"github.com/indusagi/indus/internal/locked/install"
	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

type lockFlags struct {
	scopeFlags
	update, rollback, write bool
	scripts                 []string
}

func newLock(s show.Streams) *cobra.Command {
	var f lockFlags
	cmd := newRowCommand(cobra.Command{
		Use: "lock NAME", SuggestFor: []string{"pin", "freeze"},
		Short: "Start one version of a server's package, from files of indus", Long: lockHelp,
	}, isPackage, s, `print a JSON object: server, package, version, integrity, packages, scripts, lock, dir, changed`,
		func(scope *scopeFlags, ctx context.Context, name string, s show.Streams) error {
			f.scopeFlags = *scope
			return f.lock(ctx, name, s)
		})
	cmd.Flags().BoolVar(&f.update, "update", false, `show what the newest version changes, and lock that one after a yes`)
	cmd.Flags().BoolVar(&f.rollback, "rollback", false, "go back to the version before the last update")
	cmd.Flags().BoolVar(&f.write, "write", false, "with --update: write without a question")
	cmd.Flags().StringSliceVar(&f.scripts, "scripts", nil, `PACKAGE,...  run the install scripts of these packages, or
		of none with "none"; needed if a package has one`)
	return cmd
}

const lockHelp = `Lock a server that npx, uvx or another launcher of packages starts: find the version that
it would run now, write that version with the hashes of all its packages beside the
configuration, and install it into the store of indus. From then on the server starts from
the store: without the launcher, without a network, and only if no file has changed. No
script of a package runs at the installation unless --scripts names it.

If the server is locked already, the version of the lock file is installed: a team shares
that file. --update compares with the newest version: packages, install scripts and tools.
Both versions are started for that. Nothing is replaced without a yes.

A session:
  $ indus mcp lock weather
  indus: weather is locked to weather-mcp 1.2.3 with 7
    other packages, in …/indusvx/mcp.lock.json
  $ indus mcp lock weather --update

Exit codes:
  0    ok, also if nothing changed
  1    a package manager failed, or a file does not have its hash
  2    usage: flags, files, no such NAME, and a server that cannot be locked
  130  interrupted`

// isPackage reports whether the row of a server runs a package that can be locked.
func isPackage(r mcpconfig.Row) bool { return r.Kind == config.KindStdio }

// lockedResult is the output of lock --json.
type lockedResult struct {
	Server    string   `json:"server"`
	Package   string   `json:"package"`
	Version   string   `json:"version"`
	Integrity string   `json:"integrity"`
	Packages  int      `json:"packages"`
	Scripts   []string `json:"scripts"`
	Lock      string   `json:"lock"`
	Dir       string   `json:"dir"`
	Changed   bool     `json:"changed"`
}

// locking is one run of the command for one server.
type locking struct {
	*lockFlags
	name      string
	row       mcpconfig.Row
	spec      locked.Spec
	path      string // of the lock file
	before    locked.Entry
	hasBefore bool
	installer install.Installer
	streams   show.Streams
}

func (f *lockFlags) lock(ctx context.Context, name string, s show.Streams) error {
	if f.update && f.rollback {
		return command.Exclude("--update", "--rollback")
	}
	l, err := f.open(ctx, name, s)
	if err != nil {
		return err
	}
	var entry locked.Entry
	switch {
	case f.rollback:
		entry, err = l.previous()
	case f.update && l.hasBefore:
		entry, err = l.newer(ctx)
	case l.hasBefore && f.scripts == nil:
		entry = l.before
	default:
		entry, err = l.resolve(ctx)
	}
	if err != nil {
		return err
	}
	stop := s.Waiting("installing " + entry.Package + " " + entry.Version)
	dir, err := l.installer.Install(ctx, name, entry)
	stop()
	if err != nil {
		return l.explain(entry, err)
	}
	changed := !l.hasBefore || l.before.Digest() != entry.Digest()
	if changed && f.update && l.hasBefore {
		if err := l.confirm(ctx, entry); err != nil {
			return err
		}
	}
	if err := l.save(ctx, entry); err != nil {
		return err
	}
	if f.asJSON {
		return s.WriteIndented(lockedResult{
			Server: name, Package: entry.Package, Version: entry.Version, Integrity: entry.Integrity,
			Packages: len(entry.Dependencies()), Scripts: append([]string{}, entry.Scripts...), Lock: l.path, Dir: dir,
			Changed: changed,
		})
	}
	if !changed && f.update {
		s.Reportf("%s is locked to %s %s already%s", name, entry.Package, entry.Version, l.fixed())
		return nil
	}
	s.Reportf("%s is locked to %s %s%s, in %s", name, entry.Package, entry.Version,
		otherPackages(len(entry.Dependencies())-1), l.path)
	return nil
}

// fixed says why an update of a row that names one version finds no other.
func (l *locking) fixed() string {
	if strings.TrimLeft(l.spec.Want, "=v") == l.before.Version {
		return ", the version that its row names: write another one there"
	}
	return ", which is the newest version"
}

func otherPackages(n int) string {
	if n <= 0 {
		return ""
	}
	return " with " + show.Count(n, "other package")
}

// open reads the row and its lock.
func (f *lockFlags) open(ctx context.Context, name string, s show.Streams) (*locking, error) {
	c, err := f.read(ctx)
	if err != nil {
		return nil, err
	}
	l := &locking{lockFlags: f, name: name, streams: s}
	if l.row, err = f.find(c, name); err != nil {
		return nil, err
	}
	d, ok := c.Definition(l.row)
	var written struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	if !ok || json.Unmarshal(d.JSON, &written) != nil || written.Command == "" {
		return nil, command.Usagef("%s cannot be locked: it runs no command of its own", name)
	}
	if l.spec, err = locked.Parse(written.Command, written.Args); err != nil {
		return nil, command.Usagef("%s cannot be locked: %w", name, err)
	}
	l.path = locked.Path(l.row.File)
	file, err := locked.Read(l.path)
	if err != nil {
		return nil, command.AsUsage(err)
	}
	if l.before, l.hasBefore = file.Servers[name]; l.hasBefore && !l.before.Fits(l.spec) {
		s.Reportf("the lock of %s was for %s", name, strings.Join(l.before.From, " "))
		l.hasBefore = false
	}
	l.installer = newInstaller()
	return l, nil
}

// newInstaller returns the installer of this user. Package managers run in a sandbox that reaches registries, where the
// system has one.
func newInstaller() install.Installer {
	home, _ := os.UserHomeDir()
	i := install.Installer{
		Store: locked.NewStore(os.Getenv("XDG_DATA_HOME"), home),
		Env:   proc.Without(os.Environ(), mcpconfig.KeyVariables(nil)...),
	}
	if command.Unconfinable() == "" {
		i.Confine = func(c proc.Command, dir string) (proc.Command, error) {
			sandbox := config.Sandbox{
				Base: config.Package, Write: []string{dir}, Home: filepath.Join(mcpconfig.StateDir(dryOptions()), "box", "install"),
			}
			confined, variables := sandbox.Confine(nil, func(broker.Denial) {})
			c.Box, c.Env = confined, append(slices.Clip(c.Env), variables...)
			return c, nil
		}
	}
	return i
}

// forget removes the lock of a server that was removed, with its files.
func forget(row mcpconfig.Row) error {
	path, name := locked.Path(row.File), row.Server.ID
	file, err := locked.Read(path)
	e, ok := file.Servers[name]
	if err != nil || !ok {
		return err
	}
	if err := locked.Edit(path, func(all map[string]locked.Entry) error { delete(all, name); return nil }); err != nil {
		return err
	}
	store := newInstaller().Store
	return errors.Join(store.Remove(name, e.Digest()), store.Remove(name, e.Previous))
}

// resolve finds the version that the launcher would run now.
func (l *locking) resolve(ctx context.Context) (locked.Entry, error) {
	stop := l.streams.Waiting("asking the registry for " + l.spec.Package)
	e, err := l.installer.Resolve(ctx, l.spec)
	stop()
	if err != nil {
		return e, fmt.Errorf("%s: %w", l.name, err)
	}
	scripted := e.Scripted()
	for _, name := range l.scripts {
		if name != locked.NoScripts && !slices.Contains(scripted, name) {
			return e, command.Usagef("--scripts %s: no such package has an install script; %s", name,
				show.List(append(scripted, "none"), show.MaxNamed, "packages"))
		}
	}
	if len(scripted) > 0 {
		e.Scripts = slices.Clone(l.scripts)
		slices.Sort(e.Scripts)
	}
	return e, nil
}

// newer returns the entry of the newest version, with the decision about scripts that was made before.
func (l *locking) newer(ctx context.Context) (locked.Entry, error) {
	if l.scripts == nil {
		l.scripts = slices.DeleteFunc(slices.Clone(l.before.Scripts),
			func(name string) bool { return name != locked.NoScripts })
	}
	e, err := l.resolve(ctx)
	if err != nil {
		return e, err
	}
	if e.Digest() != l.before.Digest() {
		e.Previous = l.before.Digest()
	} else {
		e.Previous = l.before.Previous
	}
	return e, nil
}

// previous returns the entry before the last update.
func (l *locking) previous() (locked.Entry, error) {
	if !l.hasBefore || l.before.Previous == "" {
		return locked.Entry{}, command.Usagef("%s has no version before the one that is locked", l.name)
	}
	e, err := l.installer.Store.Entry(l.name, l.before.Previous)
	if err != nil {
		return e, fmt.Errorf("the version before: %w", err)
	}
	e.Previous = l.before.Digest()
	return e, nil
}

// explain completes the error of an installation.
func (l *locking) explain(e locked.Entry, err error) error {
	if errors.Is(err, install.ErrScripts) {
		return command.Usagef("%s: %w: allow it with --scripts %s, or leave it out with --scripts none", l.name, err,
			strings.Join(e.Scripted(), ","))
	}
	return fmt.Errorf("%s: %w", l.name, err)
}

// save writes the lock file, then the row.
func (l *locking) save(ctx context.Context, e locked.Entry) error {
	_, err := l.change(ctx, l.name, l.streams, func(edit *mcpconfig.Edit) error {
		if err := locked.Edit(l.path, func(all map[string]locked.Entry) error {
			all[l.name] = e
			return nil
		}); err != nil {
			return err
		}
		d, _ := edit.Definition(l.name) // the command was read from it
		d.JSON = withLock(d.JSON)
		return edit.Set(d)
	})
	if err != nil {
		return err
	}
	if l.hasBefore && l.before.Digest() != e.Digest() && l.before.Previous != e.Digest() {
		if err := l.installer.Store.Remove(l.name, l.before.Previous); err != nil {
			return err
		}
	}
	return l.approve(ctx)
}

// withLock returns a row with "lock".
func withLock(row json.RawMessage) json.RawMessage {
	return merged(row, json.RawMessage(`{"lock": true}`), func(_ string, old, now json.RawMessage) json.RawMessage {
		if now == nil {
			return old
		}
		return now
	})
}

// approve renews the approval of a row of a project's file that was approved before this command changed it.
func (l *locking) approve(ctx context.Context) error {
	if approvalText(l.row) != "approved" {
		return nil
	}
	c, err := mcpconfig.Read(ctx, nil, dryOptions())
	if err != nil {
		return err
	}
	row, ok := c.Find(l.name, func(r mcpconfig.Row) bool { return command.SameFile(r.File, l.row.File) })
	if !ok || row.State != mcpconfig.Held {
		return nil
	}
	if row, err = c.Resolve(ctx, row); err != nil {
		return err
	}
	return mcpconfig.Approve(dryOptions(), row)
}

// confirm shows what a new version changes, and asks.
func (l *locking) confirm(ctx context.Context, e locked.Entry) error {
	s := l.streams
	var page show.Page
	page.Printf("%s: %s %s -> %s\n", l.name, e.Package, l.before.Version, e.Version)
	for _, c := range locked.Changes(l.before, e) {
		note := ""
		if c.NewScript {
			note = "  (has an install script now)"
		}
		switch {
		case c.Before == "":
			page.Printf("  + %s %s%s\n", c.Name, c.After, note)
		case c.After == "":
			page.Printf("  - %s %s\n", c.Name, c.Before)
		default:
			page.Printf("  %s %s -> %s%s\n", c.Name, c.Before, c.After, note)
		}
	}
	if err := l.compareTools(ctx, e, &page); err != nil {
		return err
	}
	fmt.Fprint(s.Err, page.String())
	if l.write {
		return nil
	}
	if !s.IsAttended() {
		return command.Usagef("nothing was written: add --write, or run this in a terminal")
	}
	yes, err := s.Confirm(ctx, "lock "+show.ShellWord(l.name)+" to "+e.Version+"?", s.Lines())
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case !yes:
		return errors.New("nothing was written")
	}
	return nil
}

// compareTools starts both versions and adds the differences of their tools to a page.
func (l *locking) compareTools(ctx context.Context, e locked.Entry, page *show.Page) error {
	before, err := l.tools(ctx, l.before)
	if err != nil {
		page.Printf("  the locked version does not start, so its tools were not compared: %v\n", err)
		return nil
	}
	after, err := l.tools(ctx, e)
	if err != nil {
		return fmt.Errorf("%s %s does not start: %w", e.Package, e.Version, err)
	}
	same := true
	for _, name := range sortedKeys(before, after) {
		was, is := before[name], after[name]
		switch {
		case is == nil:
			page.Printf("  - tool %s\n", name)
		case was == nil:
			page.Printf("  + tool %s\n", name)
		default:
			fields := ledger.Fields(was, is)
			if len(fields) == 0 {
				continue
			}
			page.Printf("  tool %s\n", name)
			for line := range strings.Lines(describe.ChangeLines(fields)) {
				page.WriteString("  " + line)
			}
		}
		same = false
	}
	if same {
		page.Printf("  its %s are the same\n", show.Count(len(after), "tool"))
	}
	return nil
}

func sortedKeys(maps ...map[string]json.RawMessage) (names []string) {
	for _, m := range maps {
		for name := range m {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// tools starts a version of the server, and returns its tools as it lists them.
func (l *locking) tools(ctx context.Context, e locked.Entry) (map[string]json.RawMessage, error) {
	c, err := configOf(l.row.File).Read(ctx)
	if err != nil {
		return nil, err
	}
	row, ok := c.Find(l.name, func(r mcpconfig.Row) bool { return command.SameFile(r.File, l.row.File) })
	t, isProcess := row.Server.Transport.(config.Stdio)
	if !ok || !isProcess || row.State != mcpconfig.Active {
		return nil, errors.New(command.JoinHint(row.Reason, row.Hint))
	}
	server := row.Server
	args := t.Args[len(t.Args)-len(l.spec.Args):]
	t.Locked = &config.Locked{Package: e.Package, Version: e.Version, Dir: l.installer.Store.Dir(l.name, e)}
	t.Command, t.Args = l.installer.Store.Command(l.name, e, args)
	server.Transport = t
	stop := l.streams.Waiting("starting " + e.Package + " " + e.Version)
	defer stop()
	endpoint := interop.NewEndpoint(server, nil)
	defer endpoint.Close()
	if err := endpoint.Open(ctx); err != nil {
		return nil, err
	}
	listed, err := endpoint.Tools(ctx)
	if err != nil {
		return nil, err
	}
	tools := map[string]json.RawMessage{}
	for _, tool := range listed {
		tools[tool.Tool] = tool.Wire.JSON
	}
	return tools, nil
}

// lockedVersion returns the version to which a server is locked.
func lockedVersion(server config.Server) string {
	t, ok := server.Transport.(config.Stdio)
	switch {
	case !ok || t.Locked == nil:
		return ""
	case t.Locked.Problem != "":
		return "none"
	}
	return t.Locked.Version
}
