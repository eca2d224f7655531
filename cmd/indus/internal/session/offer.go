package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// offer selects the tools that the model sees: the built-in tools, and the tools of servers while all of them fit. When
// they no longer fit, new tools are available only through the four tools of the catalog. The model keeps the tools
// that it has seen. A tool that a server adds during a turn is in the next request.
type offer struct {
	local, servers toolbox.Source // guarded
	limit          int            // in tokens
	overflowed     func()         // called when new tools move to the catalog; nil does nothing

	mu sync.Mutex // guards the fields below

	profile   *schema.Profile
	allTools  *toolbox.Box // all tools, each by its name
	box       *toolbox.Box // the tools that the model sees
	visible   *selection   // the visible tools of servers
	catalogue bool         // the box contains the catalog's four tools
}

func newOffer(local, servers toolbox.Source, limit int, p *schema.Profile) *offer {
	o := &offer{
		local: local, servers: servers, limit: limit, visible: &selection{Source: servers, names: map[string]bool{}},
	}
	o.setProfile(p)
	return o
}

// setProfile selects another model, with tools in the form of its provider. If that provider would refuse so many
// tools, all tools of servers move to the catalog.
func (o *offer) setProfile(p *schema.Profile) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.profile, o.allTools = p, toolbox.NewBox(&toolbox.BoxOptions{Profile: p}, o.local, o.servers)
	o.box = o.build()
	if o.box.Findings() != nil {
		o.catalogue = true
		o.visible.add()
		o.box = o.build()
	}
	o.update()
}

var _ agent.Toolbox = (*offer)(nil)

// Descriptors implements [agent.Toolbox]. It returns the tools for the next request.
func (o *offer) Descriptors() []toolbox.Descriptor {
	o.mu.Lock()
	overflowed, box := o.update(), o.box
	o.mu.Unlock()
	if overflowed && o.overflowed != nil {
		o.overflowed()
	}
	return box.Descriptors()
}

// Run implements [agent.Toolbox].
func (o *offer) Run(ctx context.Context, c toolbox.Call) toolbox.Outcome {
	o.mu.Lock()
	box, all, catalogue := o.box, o.allTools, o.catalogue
	o.mu.Unlock()
	out := box.Run(ctx, c)
	isNew := func(d toolbox.Descriptor) bool { return d.Name == c.Name }
	if errors.As(out.Err, new(*toolbox.UnknownTool)) && !catalogue && slices.ContainsFunc(all.Descriptors(), isNew) {
		out.Err = fmt.Errorf("%s is new and was not listed for you yet, so it did not run. Call it again now", c.Name)
		out.Output = text.Quote(out.Err.Error())
	}
	return out
}

// update adds tools that are new since the last request, directly or through the catalog. It reports whether box has
// changed.
func (o *offer) update() (changed bool) {
	all := o.allTools.Descriptors()
	var added []string
	for _, d := range all {
		if d.Server != "" && !o.visible.has(d.Name) {
			added = append(added, d.Name)
		}
	}
	switch {
	case o.catalogue || len(added) == 0:
		return false
	case tokensOf(all) > o.limit || o.allTools.Findings() != nil:
		o.catalogue = true
		o.box = o.build()
		return true
	}
	o.visible.add(added...)
	return false
}

func (o *offer) build() *toolbox.Box {
	sources := []toolbox.Source{o.local, o.visible}
	if o.catalogue {
		sources = append(sources, catalog.Over(o.servers, nil))
	}
	return toolbox.NewBox(&toolbox.BoxOptions{Profile: o.profile}, sources...)
}

// tokensOf returns the approximate size of tools in a request, in tokens.
func tokensOf(tools []toolbox.Descriptor) (n int) {
	for _, d := range tools {
		n += len(d.Name) + len(d.Description) + len(d.Parameters)
	}
	return n / text.BytesPerToken
}

// selection is a source restricted to chosen names.
type selection struct {
	toolbox.Source

	mu      sync.Mutex
	names   map[string]bool
	changes uint64            // number of changes of names
	source  *toolbox.Snapshot // the source's snapshot for shown; nil if names have changed since
	shown   *toolbox.Snapshot
}

var _ toolbox.Source = (*selection)(nil)

func (c *selection) has(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.names[name]
}

// add adds names to the choice. Without names it empties the choice.
func (c *selection) add(names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if names == nil {
		clear(c.names)
	}
	for _, name := range names {
		c.names[name] = true
	}
	c.source, c.changes = nil, c.changes+1
}

// Snapshot implements [toolbox.Source]. It lists no pending tools, so a tool that is not visible cannot be called by
// name.
func (c *selection) Snapshot(who toolbox.Principal) *toolbox.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.Source.Snapshot(who)
	if c.source == s && s != nil {
		return c.shown
	}
	out := *s
	out.Version, out.Pending = s.Version+c.changes, nil
	out.Tools = slices.DeleteFunc(slices.Clone(s.Tools), func(d toolbox.Descriptor) bool { return !c.names[d.Name] })
	c.source, c.shown = s, &out
	return c.shown
}
