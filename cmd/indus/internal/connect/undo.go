package connect

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/keys"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/statefile"
	"github.com/indusagi/indus/mcpconfig"
)

// record holds how to undo one change of a client's file: the bytes that it replaced.
type record struct {
	Run      time.Time   `json:"run"` // of the command that made the change
	All      bool        `json:"all,omitempty"`
	Client   string      `json:"client"`
	File     string      `json:"file"` // absolute
	Entry    string      `json:"entry"`
	Key      string      `json:"key,omitempty"`    // the id of the client's key
	Shared   bool        `json:"shared,omitempty"` // the key is in a cluster
	At       int         `json:"at"`               // offset of the changed bytes
	Removed  []byte      `json:"removed"`
	Inserted int         `json:"inserted"` // length
	Before   string      `json:"before"`   // SHA-256 of the file before, or "" if there was none
	After    string      `json:"after"`    // SHA-256 of the file after
	Mode     fs.FileMode `json:"mode"`     // of the file before
	// Own is the entry as it was written, and Rows has the servers that it replaced or that were removed, by their names.
	Own  json.RawMessage            `json:"own,omitempty"`
	Rows map[string]json.RawMessage `json:"rows,omitempty"`
}

var errNoState = errors.New("there is no place to keep what undoes it: set $HOME or $XDG_STATE_HOME")

// maxRecords is the number of changes that can be undone.
const maxRecords = 100

// maxRecordFile is the maximum size of the records in bytes. A file of another client has at most 16 MiB.
const maxRecordFile = 64 << 20

// records returns the file of the records, with the changes in order.
func records() (*statefile.File[[]record], error) {
	path := command.StatePath("connect.json")
	if path == "" {
		return nil, errNoState
	}
	return &statefile.File[[]record]{
		Path: path,
		Load: func(path string) ([]byte, error) { return atomicfile.ReadPrivate(path, maxRecordFile) },
		Decode: func(_ context.Context, text []byte) (list []record, err error) {
			if len(text) > 0 {
				err = json.Unmarshal(text, &list)
			}
			return list, err
		},
		Encode: func(_ context.Context, list []record) ([]byte, error) { return json.Marshal(list) },
	}, nil
}

func changeRecords(ctx context.Context, edit func([]record) []record) error {
	file, err := records()
	if err != nil {
		return err
	}
	err = file.Update(ctx, func(list []record) ([]record, error) {
		list = edit(list)
		return list[max(0, len(list)-maxRecords):], nil
	})
	if err != nil {
		return fmt.Errorf("the record of the change: %w", err)
	}
	return nil
}

// withoutRecord returns the list without a record.
func withoutRecord(list []record, r record) []record {
	return slices.DeleteFunc(list, func(o record) bool { return o.File == r.File && o.Run.Equal(r.Run) })
}

// newRecord returns the record of a change.
func newRecord(c *change, run time.Time, all bool) (record, error) {
	path, err := filepath.Abs(c.File)
	if err != nil {
		return record{}, err
	}
	at := 0
	for at < min(len(c.before), len(c.after)) && c.before[at] == c.after[at] {
		at++
	}
	end := 0 // bytes that are the same at the end
	for end < min(len(c.before), len(c.after))-at && c.before[len(c.before)-1-end] == c.after[len(c.after)-1-end] {
		end++
	}
	r := record{
		Run: run, All: all, Client: c.Client, File: path, Entry: c.Entry, Key: c.Key, Shared: c.shared && c.Key != "",
		At: at, Removed: c.before[at : len(c.before)-end], Inserted: len(c.after) - end - at, After: digest(c.after),
	}
	after, err := mcpconfig.ClientRows(c.Client, c.after)
	if err != nil {
		return record{}, err
	}
	r.Own = after[c.Entry]
	if r.Rows, err = mcpconfig.ClientRows(c.Client, c.before); err != nil {
		return record{}, err
	}
	maps.DeleteFunc(r.Rows, func(id string, row json.RawMessage) bool { return isAlike(after[id], row) })
	if c.before != nil {
		r.Before = digest(c.before)
		info, err := os.Stat(path)
		if err != nil {
			return record{}, err
		}
		r.Mode = info.Mode().Perm()
	}
	return r, nil
}

func digest(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// restored returns the text before the change, or false if the text is not the one after it.
func (r record) restored(text []byte) ([]byte, bool) {
	if digest(text) != r.After || r.At < 0 || r.Inserted < 0 || r.At+r.Inserted > len(text) {
		return nil, false
	}
	if r.Before == "" {
		return nil, true
	}
	out := append(append(append([]byte{}, text[:r.At]...), r.Removed...), text[r.At+r.Inserted:]...) // not nil
	return out, digest(out) == r.Before
}

// undo undoes the last change of each client, or the last run with --all.
func (f *connectFlags) undo(ctx context.Context, clients []mcpconfig.Client, s show.Streams) error {
	file, err := records()
	if err != nil {
		return err
	}
	list, err := file.Read(ctx)
	if err != nil {
		return fmt.Errorf("the records of the changes: %w", err)
	}
	var chosen []record
	for _, r := range slices.Backward(list) {
		if f.isUndone(r, clients) && (len(chosen) == 0 || f.all && r.Run.Equal(chosen[0].Run)) {
			chosen = append(chosen, r)
		}
	}
	switch {
	case len(chosen) == 0 && f.all:
		return command.Usagef("there is no connect --all to undo; name a CLIENT")
	case len(chosen) == 0:
		return command.Usagef("there is no connection of %s to undo", clients[0].Name)
	}
	if slices.ContainsFunc(chosen, func(r record) bool { return r.Shared }) {
		done, err := f.openKeys(ctx, s)
		if err != nil {
			return err
		}
		defer done()
		if !f.shared {
			return command.Usagef("the key of the client is in a cluster: name its configuration with --mcp")
		}
	}
	var failed error // of a client that is left out, or of servers that are not put back
	err = f.perform(ctx, s, func() (changes []*change, err error) {
		failed = nil
		for _, r := range chosen {
			c, err := f.planUndo(r)
			switch {
			case err != nil && len(chosen) == 1:
				return nil, err
			case err != nil:
				s.Reportf("left out: %v", err)
				failed = command.Usagef("not all is undone: mend these files, and repeat the command")
			default:
				changes = append(changes, c)
				failed = cmp.Or(c.lostError(), failed)
			}
		}
		return changes, nil
	}, func(c *change) error { return undoFile(ctx, c) }, (*change).undone)
	return cmp.Or(err, failed)
}

// undone returns the message about an undone change.
func (c *change) undone() string {
	restored := show.List(slices.Sorted(maps.Keys(c.restored)), maxShown, "servers")
	switch {
	case c.restored == nil:
		return fmt.Sprintf("%s is as it was before %s was connected", c.File, c.Client)
	case len(c.restored) == 0:
		return fmt.Sprintf("%q is removed from %s; its other changes stay", c.Entry, c.File)
	}
	return fmt.Sprintf("%q is removed from %s, and %s is back; its other changes stay", c.Entry, c.File, restored)
}

// lostError names the servers that cannot be put back. It returns nil if there are none.
func (c *change) lostError() error {
	if len(c.lost) == 0 {
		return nil
	}
	return command.Usagef("%s has other servers of the names %s now, so those that were removed are not put back: "+
		"rename them, and repeat the command", c.File, show.List(slices.Sorted(maps.Keys(c.lost)), maxShown, "servers"))
}

// isUndone reports whether the flags select a record.
func (f *connectFlags) isUndone(r record, clients []mcpconfig.Client) bool {
	if f.all {
		return r.All
	}
	project, user := clients[0].SplitFiles(nil)
	if f.project {
		user = project
	}
	return r.Client == clients[0].Name && slices.ContainsFunc(user, func(path string) bool {
		abs, err := filepath.Abs(path)
		return err == nil && abs == r.File
	})
}

// planUndo returns the change that undoes a record. If the client has changed its file since, only the entry and the
// removed servers are undone.
func (f *connectFlags) planUndo(r record) (*change, error) {
	c := &change{Client: r.Client, File: r.File, Entry: r.Entry, Key: r.Key, undoes: r}
	c.keys = identity.NewKeys(keys.Path())
	if r.Shared {
		c.keys = f.keys
	}
	err := c.read(func(text []byte) (err error) {
		before, ok := r.restored(text)
		switch {
		case ok:
			c.after = before
		case r.Before == "" && text == nil, r.Before != "" && digest(text) == r.Before:
			c.after = text
		default:
			err = c.planRows(text, f.force)
		}
		return err
	})
	c.Changed = true // at least the record
	return c, command.AsUsage(err)
}

// planRows plans to remove the entry, and to put back the servers that it replaced or that were removed, in a text with
// other changes. An entry that is not the one of the record stays, unless force is set.
func (c *change) planRows(text []byte, force bool) error {
	now, err := mcpconfig.ClientRows(c.Client, text)
	if err != nil {
		return err
	}
	r := c.undoes
	e := mcpconfig.Entry{ID: r.Entry}
	switch own := now[r.Entry]; {
	case own == nil, isAlike(own, r.Rows[r.Entry]): // it was undone by hand
	case r.Own == nil && r.Rows != nil: // the entry is removed already
	case force, isAlike(own, r.Own):
		e.Remove = []string{r.Entry}
		delete(now, r.Entry)
	case r.Own == nil: // a record of an earlier version
		return fmt.Errorf("has changed since %s was connected: --force removes only %q, and the other changes stay",
			r.Client, r.Entry)
	default:
		return fmt.Errorf("%q has changed since %s was connected: --force removes it, and the other changes stay",
			r.Entry, r.Client)
	}
	c.restored, c.lost = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for id, row := range r.Rows {
		switch there := now[id]; {
		case there == nil:
			c.restored[id] = row
		case !isAlike(there, row):
			c.lost[id] = row
		}
	}
	e.Restore = c.restored
	c.after, _, err = mcpconfig.Export(r.Client, e, text)
	return err
}

// written holds the records of earlier connections.
type written []record

// writtenEntries reads the records. There are none if there is no place for them.
func writtenEntries(ctx context.Context) (written, error) {
	file, err := records()
	if err != nil {
		return nil, nil //nolint:nilerr // connectFile returns the error, if a change is made
	}
	list, err := file.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("the records of the changes: %w", err)
	}
	return list, nil
}

// wrote reports whether the entry in the text of a client's file is one that connect wrote, for example for another
// port or without a key.
func (w written) wrote(c *change, text []byte) bool {
	rows, err := mcpconfig.ClientRows(c.Client, text)
	path, absErr := filepath.Abs(c.File)
	return err == nil && absErr == nil && slices.ContainsFunc(w, func(r record) bool {
		return r.File == path && r.Entry == c.Entry && isAlike(rows[c.Entry], r.Own)
	})
}

// isAlike reports whether two rows are equal, in any order of their members.
func isAlike(a, b json.RawMessage) bool {
	return a != nil && b != nil && reflect.DeepEqual(decoded(a), decoded(b))
}

// undoFile writes the file as it was, and removes the client's key and the record.
func undoFile(ctx context.Context, c *change) error {
	r := c.undoes
	switch {
	case c.after == nil && c.before != nil:
		if err := c.remove(); err != nil {
			return err
		}
	case !bytes.Equal(c.after, c.before):
		if err := c.replace(false); err != nil {
			return err
		}
	}
	if c.after != nil && digest(c.after) == r.Before {
		if info, err := os.Stat(c.File); err == nil && info.Mode().Perm() != r.Mode {
			if err := os.Chmod(c.File, r.Mode); err != nil {
				return err
			}
		}
	}
	if r.Key != "" {
		if err := c.keys.Remove(ctx, r.Key); err != nil && !errors.Is(err, identity.ErrNoKey) {
			return command.StateError("keys", err)
		}
	}
	return changeRecords(ctx, func(list []record) []record {
		list = withoutRecord(list, r)
		if len(c.lost) > 0 { // they can still be put back
			r.Rows, r.Own, r.Key, r.Removed, r.Before, r.After = c.lost, nil, "", nil, "", ""
			list = append(list, r)
		}
		return list
	})
}

// remove removes a file that connect made, unless it has changed. If the path is a link, the link stays.
func (c *change) remove() error {
	target, err := filepath.EvalSymlinks(c.File)
	if err != nil {
		return command.AsUsage(err)
	}
	text, err := atomicfile.ReadPlain(target, maxRecordFile)
	if err == nil && !bytes.Equal(text, c.before) {
		err = fmt.Errorf("%s: %w", c.File, mcpconfig.ErrChanged)
	}
	if err != nil {
		return err
	}
	return os.Remove(target)
}
