package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/schema"
)

// connected is servers that a command has mounted for itself.
type connected struct {
	*interop.Mounted
	close func()
}

// Close ends every connection.
func (c *connected) Close() { c.close() }

// connect mounts servers once, without anybody who would connect them again,
// and waits until each is ready or faulted. On a terminal it shows them live. What the
// configuration keeps back of changed tools is kept back here as in indus serve, by the
// same ledger.
func connect(ctx context.Context, servers []interop.Server, p *schema.Profile, s streams) (*connected, error) {
	o := &interop.MountOptions{
		Wait: -1, Budget: -1, Profile: p, Restart: interop.Restart{Off: true}, Logger: s.logger(),
	}
	c := &connected{}
	if slices.ContainsFunc(servers, func(o interop.Server) bool { return o.Changes.Guards() }) {
		log, err := openPins(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w; without the ledger nobody knows which tools changed, and the configuration keeps those back", err)
		}
		a := ledger.Attach(ctx, ledger.Empty(), servers, &ledger.Options{Mount: o, Log: log, By: "indus mcp"})
		c.Mounted, c.close = &interop.Mounted{Box: a.Box, Fleet: a.Fleet}, a.Close
	} else {
		c.Mounted = interop.Mount(ctx, servers, o)
		c.close = c.Mounted.Close
	}
	stop := watchLive(c.Fleet, s)
	err := c.Fleet.Settle(ctx)
	stop()
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// pins is the ledger as a command uses it that is over soon: it writes which versions of
// tools it saw that nobody had seen before, and nothing where there are none.
type pins struct {
	*ledger.File
	known  map[versionOf]bool
	begins []ledger.Entry // not written yet
	begun  bool
}

var _ ledger.Log = (*pins)(nil)

func openPins(ctx context.Context) (*pins, error) {
	dir := mcpconfig.StateDir(nil)
	if dir == "" {
		return nil, errors.New("no home directory is known, where the ledger would be")
	}
	path := filepath.Join(dir, "ledger.jsonl")
	if _, err := isLedger(path); err != nil {
		return nil, err
	}
	file, err := openLedger(ctx, path, lockWait, nil)
	if err != nil {
		return nil, err
	}
	p := &pins{File: file, known: map[versionOf]bool{}}
	entries, err := file.Read(ctx, 0)
	for _, e := range entries {
		p.known[pinOf(e)] = true
	}
	return p, err
}

func pinOf(e ledger.Entry) versionOf {
	return versionOf{toolOf{e.Config, e.Server, e.Tool}, e.Seal}
}

// Append implements [ledger.Log].
func (p *pins) Append(ctx context.Context, entries ...ledger.Entry) ([]ledger.Entry, error) {
	begins, fresh := slices.Clone(p.begins), map[versionOf]bool{}
	var news []ledger.Entry
	for _, e := range entries {
		isNew := !p.known[pinOf(e)] && !fresh[pinOf(e)]
		switch {
		case e.Op == ledger.Begin:
			begins = append(begins, e)
		case e.Op == ledger.End && (p.begun || len(news) > 0), isNew && (e.Op == ledger.Enroll || e.Op == ledger.Hold):
			news = append(news, e)
			fresh[pinOf(e)] = true
		}
	}
	if len(news) == 0 {
		p.begins = begins
		return nil, nil
	}
	written, err := p.File.Append(ctx, append(begins, news...)...)
	if err != nil {
		return nil, err // and nothing has changed: the same entries come again
	}
	p.begun, p.begins = true, nil
	maps.Copy(p.known, fresh)
	return written, nil
}

// keptBack says that a tool is kept back, and how to let it in.
func keptBack(names ...string) string {
	is := "is kept back: it is not what it was when it was approved; see what changed, and accept it: indus mcp accept"
	if len(names) > 1 {
		is = "are kept back: they are not what they were when they were approved; see what changed, and accept it: indus mcp accept"
	}
	return strings.Join(names, ", ") + " " + is
}
