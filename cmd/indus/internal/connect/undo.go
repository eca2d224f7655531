package connect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/keys"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/identity"
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
	return f.perform(ctx, s, func() (changes []*change, err error) {
		for _, r := range chosen {
			c, err := f.planUndo(r)
			if err != nil {
				return nil, err
			}
			changes = append(changes, c)
		}
		return changes, nil
	}, func(c *change) error { return undoFile(ctx, c) }, func(c *change) string {
		return fmt.Sprintf("%s is as it was before %s was connected", c.File, c.Client)
	})
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

// planUndo returns the change that undoes a record. If the file has changed since, it is an error, or with --force the
// change that removes only the entry.
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
		case !f.force:
			return fmt.Errorf("has changed since %s was connected: --force removes only %q, and the other changes stay",
				r.Client, r.Entry)
		default:
			c.after, _, err = mcpconfig.Export(r.Client, mcpconfig.Entry{ID: r.Entry, Remove: []string{r.Entry}}, text)
		}
		return err
	})
	c.Changed = true // at least the record
	return c, command.AsUsage(err)
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
	return changeRecords(ctx, func(list []record) []record { return withoutRecord(list, r) })
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
