package command

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
)

// Version is a version of a tool of a server, as it is configured.
type Version struct{ Config, Server, Tool, Sum string }

// VersionOf is what an entry is about.
func VersionOf(e ledger.Entry) Version { return Version{e.Config, e.Server, e.Tool, e.Sum} }

// pins is the ledger as a command uses it that is over soon: it writes which versions of
// tools it saw that nobody had seen before, and nothing where there are none.
type pins struct {
	*ledger.File
	known  map[Version]bool
	begins []ledger.Entry // not written yet
	begun  bool
	looks  bool // it enrolls nothing: the command shows no tool, and calls none
	s      show.Streams
	failed sync.Once // reports that the ledger cannot be written
}

var _ ledger.Log = (*pins)(nil)

func (f *LedgerFlags) openPins(ctx context.Context, s show.Streams) (*pins, error) {
	path, err := f.Path()
	if err != nil {
		return nil, err
	}
	if _, err := LedgerExists(path); err != nil {
		return nil, err
	}
	file, err := OpenLedger(ctx, path, LockWait, nil)
	if err != nil {
		return nil, err
	}
	f.ReportRemoved(file, path, s)
	p := &pins{File: file, looks: f.Looks, known: map[Version]bool{}, s: s}
	entries, err := file.Read(ctx, 0)
	for _, e := range entries {
		p.known[VersionOf(e)] = true
	}
	return p, err
}

// Append implements [ledger.Log].
func (p *pins) Append(ctx context.Context, entries ...ledger.Entry) ([]ledger.Entry, error) {
	begins, fresh := slices.Clone(p.begins), map[Version]bool{}
	var news []ledger.Entry
	for _, e := range entries {
		isNew := !p.known[VersionOf(e)] && !fresh[VersionOf(e)]
		switch {
		case e.Op == ledger.Begin:
			begins = append(begins, e)
		case e.Op == ledger.End && (p.begun || len(news) > 0), isNew && (e.Op == ledger.Enroll && !p.looks || e.Op == ledger.Hold):
			news = append(news, e)
			fresh[VersionOf(e)] = true
		}
	}
	if len(news) == 0 {
		p.begins = begins
		return nil, nil
	}
	written, err := p.File.Append(ctx, append(begins, news...)...)
	if err != nil { // and nothing has changed: the same entries come again
		if ctx.Err() == nil {
			p.failed.Do(func() {
				p.s.Reportf("the ledger cannot be written, and lacks the tools that were seen now: %s", strings.TrimPrefix(err.Error(), "ledger: "))
			})
		}
		return nil, err
	}
	p.begun, p.begins = true, nil
	maps.Copy(p.known, fresh)
	return written, nil
}

// HeldBack says that a tool is kept back, and how to let it in.
func (f *LedgerFlags) HeldBack(names ...string) string {
	is, it := "is kept back: it is new or changed since its server was approved", "it"
	if len(names) > 1 {
		is, it = "are kept back: they are new or changed since their servers were approved", "them"
	}
	return strings.Join(names, ", ") + " " + is + "; look at " + it + ", and accept " + it + ": indus mcp accept" + f.Repeat()
}
