package connect

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
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/keys"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/rogpeppe/go-internal/diff"
)

// newKey stands for a key that is created only when the file is written.
const newKey = "indus_NEW-KEY"

// maxShown is the number of servers that a message names.
const maxShown = 20

// change is a change of a client's file.
type change struct {
	Client  string           `json:"client"`
	File    string           `json:"file"`
	Entry   string           `json:"entry"`             // the name of the entry
	Removed []string         `json:"removed,omitempty"` // servers that indus has
	Changed bool             `json:"changed"`           // false if the file has the entry already
	Key     string           `json:"key,omitempty"`     // the id of the key that was created or removed
	Notes   []mcpconfig.Note `json:"notes,omitempty"`

	entry  mcpconfig.Entry
	views  []string // for which a new key is valid; nil stands for all
	keys   *identity.Keys
	shared bool   // keys are in a cluster
	undoes record // of the change that this one undoes
	// restored has the servers that an undo puts back into a file with other changes, and lost the others: they have
	// another server in their place. Both are nil if the undo is the whole file.
	restored, lost map[string]json.RawMessage
	before, after  []byte // nil if there is no file
}

// write connects clients.
func (f *connectFlags) write(ctx context.Context, clients []mcpconfig.Client, e mcpconfig.Entry, s show.Streams) error {
	run := time.Now().UTC()
	if e.Bearer == newKey {
		done, err := f.openKeys(ctx, s)
		if err != nil {
			return err
		}
		defer done()
	}
	return f.perform(ctx, s, func() ([]*change, error) {
		if f.all {
			return f.planAll(ctx, clients, e, s)
		}
		c, err := f.plan(clients[0], e, nil)
		return []*change{c}, err
	}, func(c *change) error { return connectFile(ctx, c, run, f.all) }, func(c *change) string {
		undo := "indus connect " + c.Client + " --revert"
		switch {
		case f.project:
			undo += " --project"
		case f.all:
			undo = "indus connect --all --revert"
		}
		return fmt.Sprintf("connected %s: restart it; %q undoes it", c.Client, undo)
	})
}

// perform plans changes, shows them, asks, and makes them. With --yes it plans under the lock of all editors, so that
// commands in parallel take turns. done returns the message about a change.
func (f *connectFlags) perform(
	ctx context.Context, s show.Streams, plan func() ([]*change, error), apply func(*change) error,
	done func(*change) string,
) error {
	unlock := func() {}
	lock := func() (err error) {
		unlock, err = command.LockFiles(ctx, s)
		return err
	}
	if f.yes {
		if err := lock(); err != nil {
			return err
		}
	}
	changes, err := plan()
	if err == nil && !f.yes {
		showChanges(changes, s)
		if slices.ContainsFunc(changes, func(c *change) bool { return c.Changed }) {
			err = confirm(ctx, s)
		}
		if err == nil {
			err = lock()
		}
		if err != nil {
			return err
		}
	}
	n := 0 // of the changes that are made
	for ; err == nil && n < len(changes); n++ {
		if changes[n].Changed {
			if err = apply(changes[n]); err != nil {
				break
			}
		}
	}
	unlock() // before writing to stderr, which may block
	if f.yes {
		showChanges(changes[:n], s)
	}
	for _, c := range changes[:n] {
		if c.Changed {
			s.Reportf("%s", done(c))
		} else {
			s.Reportf("%s has it already: nothing was written", c.File)
		}
	}
	if err != nil || !f.asJSON {
		return err
	}
	return s.WriteIndented(append([]*change{}, changes...))
}

// plan returns the change that gives a client an entry and removes servers of some names.
func (f *connectFlags) plan(client mcpconfig.Client, e mcpconfig.Entry, remove []string) (*change, error) {
	project, files := client.SplitFiles(nil)
	location := "of the user's"
	if f.project {
		files, location = project, "in a project"
	}
	if len(files) == 0 {
		return nil, command.Usagef("%s has no file %s; --print prints the entry", client.Title, location)
	}
	c := &change{Client: client.Name, File: existingFile(files), Entry: e.ID, Removed: remove, entry: e, views: f.keyViews}
	c.entry.Remove, c.keys, c.shared = remove, f.keys, f.shared
	own, err := writtenEntries(context.Background())
	if err != nil {
		return nil, err
	}
	err = c.read(func(text []byte) (err error) {
		if e.Bearer == newKey {
			c.entry.Bearer = cmp.Or(c.workingKey(), newKey)
		}
		c.entry.Replace = e.Replace || own.wrote(c, text)
		c.after, c.Notes, err = mcpconfig.Export(client.Name, c.entry, text)
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s has another server of that name: %q; --force replaces it", c.File, e.ID)
	}
	if f.project && e.Token != "" && len(c.Notes) > 0 {
		return nil, command.Usagef("%s; a project's file must not hold a key, so leave out --project", c.Notes[0])
	}
	c.Changed = !bytes.Equal(c.before, c.after)
	return c, command.AsUsage(err)
}

// read calls use with the text of the file. A parser's position in the error follows the path.
func (c *change) read(use func(text []byte) error) error {
	return mcpconfig.Rewrite(c.File, func(text []byte) ([]byte, error) {
		c.before = text
		err := use(text)
		switch {
		case err == nil || errors.Is(err, fs.ErrExist):
			return text, err
		case err.Error()[0] >= '0' && err.Error()[0] <= '9':
			return nil, fmt.Errorf("%s:%w", c.File, err)
		}
		return nil, fmt.Errorf("%s: %w", c.File, err)
	})
}

// workingKey returns the key in the present entry, if the entry has the same URL and the key is good. Otherwise it
// returns "".
func (c *change) workingKey() string {
	in, err := mcpconfig.Client{Name: c.Client}.Import(c.File, c.before)
	if err != nil {
		return ""
	}
	for _, d := range in.Definitions {
		var row struct {
			URL     string            `json:"url"`
			Headers map[string]string `json:"headers"`
		}
		if d.ID != c.Entry || json.Unmarshal(d.JSON, &row) != nil || row.URL != c.entry.URL {
			continue
		}
		token, _ := strings.CutPrefix(row.Headers["Authorization"], "Bearer ")
		if _, err := c.keys.Verify(context.Background(), token); err == nil {
			return token
		}
	}
	return ""
}

// planAll returns the changes that connect every client that has servers of the user.
func (f *connectFlags) planAll(
	ctx context.Context, clients []mcpconfig.Client, e mcpconfig.Entry, s show.Streams,
) (out []*change, err error) {
	config, err := f.ReadDry(ctx)
	if err != nil {
		return nil, err
	}
	has := func(d mcpconfig.Definition) bool { // reports whether indus has a server
		return slices.ContainsFunc(config.Rows, func(r mcpconfig.Row) bool {
			own, ok := config.Definition(r)
			return ok && r.State != mcpconfig.Skipped && reflect.DeepEqual(decoded(own.JSON), decoded(d.JSON))
		})
	}
	seen := map[string]bool{} // files that a client before has in common
	for _, client := range clients {
		_, files := client.SplitFiles(nil)
		if len(files) == 0 || seen[existingFile(files)] {
			continue
		}
		path := existingFile(files)
		in, err := mcpconfig.Import(path, client.Name, &mcpconfig.Options{Dry: true})
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, mcpconfig.ErrNoServer):
			continue
		case err != nil:
			s.Reportf("left out: %v", err)
			continue
		}
		seen[path] = true
		var kept, remove []string
		for _, d := range in.Definitions {
			switch {
			case d.ID == e.ID:
			case has(d):
				remove = append(remove, d.ID)
			default:
				kept = append(kept, d.ID)
			}
		}
		c, err := f.plan(client, f.entryFor(client, e), remove)
		if err != nil {
			s.Reportf("left out: %v", err)
			continue
		}
		if len(kept) > 0 {
			s.Reportf("%s keeps %s, which indus does not have: indus mcp import %s --write", path,
				show.List(kept, maxShown, "servers"), client.Name)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		s.Reportf("no client has servers here")
	}
	return out, nil
}

// entryFor returns the entry for one of several clients: a client that only starts commands gets a command.
func (f *connectFlags) entryFor(client mcpconfig.Client, e mcpconfig.Entry) mcpconfig.Entry {
	if _, _, err := mcpconfig.Export(client.Name, e, nil); err == nil {
		return e
	}
	if command, err := f.commandEntry(); err == nil {
		return command
	}
	return e
}

func decoded(row json.RawMessage) (v any) {
	_ = json.Unmarshal(row, &v)
	return v
}

// connectFile creates the client's key, records how to undo the change, and writes the file.
func connectFile(ctx context.Context, c *change, run time.Time, all bool) (err error) {
	if c.entry.Bearer == newKey {
		removeKey, failed := c.createKey(ctx)
		if failed != nil {
			return failed
		}
		defer func() {
			if err != nil {
				removeKey()
			}
		}()
	}
	r, err := newRecord(c, run, all)
	if err != nil {
		return err
	}
	if err := changeRecords(ctx, func(list []record) []record { return append(list, r) }); err != nil {
		return err
	}
	if err := c.replace(c.entry.Bearer != ""); err != nil {
		_ = changeRecords(ctx, func(list []record) []record { return withoutRecord(list, r) })
		return err
	}
	return nil
}

// replace writes the new text, unless the file has changed since it was read. If private is set, only the user may read
// the file from then on.
func (c *change) replace(private bool) error {
	err := mcpconfig.Rewrite(c.File, func(text []byte) ([]byte, error) {
		if !bytes.Equal(text, c.before) || (text == nil) != (c.before == nil) {
			return nil, mcpconfig.ErrChanged
		}
		info, err := os.Stat(c.File)
		if private && err == nil && info.Mode().Perm()&0o077 != 0 && info.Mode().Perm()&0o200 != 0 {
			if err := os.Chmod(c.File, info.Mode().Perm()&0o700); err != nil {
				return nil, err
			}
		}
		return c.after, nil
	})
	if errors.Is(err, mcpconfig.ErrChanged) {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	return command.AsUsage(err)
}

// createKey creates the client's key and puts it into the entry. undo removes the key again.
func (c *change) createKey(ctx context.Context) (undo func(), err error) {
	if path := keys.Path(); path != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
	}
	token, key, err := c.keys.Add(ctx, identity.Key{Name: c.Client, Views: c.views})
	if err != nil {
		return nil, command.StateError("keys", err)
	}
	c.Key, c.entry.Bearer = key.ID, token
	undo = func() { _ = c.keys.Remove(context.WithoutCancel(ctx), key.ID) }
	if c.after, c.Notes, err = mcpconfig.Export(c.Client, c.entry, c.before); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

// showChanges prints the changed lines of the files to stderr, with secrets hidden.
func showChanges(changes []*change, s show.Streams) {
	for _, c := range changes {
		for _, n := range c.Notes {
			s.Reportf("%s", n)
		}
		if !c.Changed {
			continue
		}
		hidden := secret.New(append(secretsIn(c, c.before), secretsIn(c, c.after)...)...)
		name := show.Clean(c.File)
		fmt.Fprintf(s.Err, "--- %s\n+++ %[1]s\n", name)
		for line := range strings.Lines(string(diff.Diff(c.File, c.before, c.File, c.after))) {
			isHeader := strings.HasPrefix(line, "--- "+c.File) || strings.HasPrefix(line, "+++ "+c.File)
			if !isHeader && strings.ContainsAny(line[:1], "+-") {
				fmt.Fprintln(s.Err, show.Clean(secret.Text(hidden.Mask(strings.TrimRight(line, "\r\n")))))
			}
		}
	}
}

// secretsIn returns the values of a file's servers that are not shown: of environments, headers and likely secrets.
func secretsIn(c *change, text []byte) (values []string) {
	in, err := mcpconfig.Client{Name: c.Client}.Import(c.File, text)
	if err != nil {
		return nil
	}
	for _, d := range in.Definitions {
		values = append(values, maskedTexts(decoded(d.JSON), decoded(secret.Definition(d.JSON)))...)
	}
	return values
}

// maskedTexts returns the texts of a value that are masked in another.
func maskedTexts(plain, masked any) (out []string) {
	switch v := plain.(type) {
	case string:
		if v != masked {
			out = append(out, v)
		}
	case map[string]any:
		other, _ := masked.(map[string]any)
		for name := range v {
			out = append(out, maskedTexts(v[name], other[name])...)
		}
	case []any:
		other, _ := masked.([]any)
		for i := range min(len(v), len(other)) {
			out = append(out, maskedTexts(v[i], other[i])...)
		}
	}
	return out
}

// confirm asks for a yes on a terminal.
func confirm(ctx context.Context, s show.Streams) error {
	if !s.IsAttended() {
		return command.Usagef("nothing was written: add --yes to write it, or run this in a terminal")
	}
	yes, err := s.Confirm(ctx, "write it?", s.Lines())
	if err == nil && !yes || errors.Is(err, io.EOF) {
		err = errors.New("nothing was written")
	}
	return err
}

// existingFile returns the first existing file, or else the first file. Files with another base name than the first are
// read only, so it skips them.
func existingFile(files []string) string {
	stem := func(file string) string {
		name := strings.TrimPrefix(filepath.Base(file), ".")
		return strings.TrimSuffix(name, filepath.Ext(name))
	}
	for _, file := range files {
		if _, err := os.Stat(file); err == nil && stem(file) == stem(files[0]) {
			return file
		}
	}
	return files[0]
}
