package session

import (
	"slices"
	"sync"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// bytesPerToken is what tokens of schemas and descriptions come to, on the average of the providers.
const bytesPerToken = 4

// offer is what a model is shown: the built-in tools, and those of the servers as long as all of them fit. From then on
// those that it was not shown yet are behind the four of the catalog: what a conversation had it keeps.
type offer struct {
	local, servers toolbox.Source // guarded
	limit          int            // tokens

	profile   *schema.Profile
	whole     *toolbox.Box // everything by itself
	box       *toolbox.Box // what is shown
	shown     *chosen      // of servers
	catalogue bool         // the four are among it
}

func newOffer(local, servers toolbox.Source, limit int, p *schema.Profile) *offer {
	o := &offer{local: local, servers: servers, limit: limit, shown: &chosen{Source: servers, names: map[string]bool{}}}
	o.use(p)
	return o
}

// use is for another model, which is shown the tools as its provider takes them. What a conversation had goes to the catalog
// only where its provider would refuse so many.
func (o *offer) use(p *schema.Profile) {
	o.profile, o.whole = p, toolbox.NewBox(&toolbox.BoxOptions{Profile: p}, o.local, o.servers)
	o.box = o.build()
	if o.box.Findings() != nil {
		o.catalogue = true
		o.shown.add()
		o.box = o.build()
	}
	o.arrange()
}

// arrange shows the tools that came since the last turn, by themselves or in the catalog. It reports whether box is another one.
func (o *offer) arrange() (changed bool) {
	all := o.whole.Descriptors()
	var news []string
	for _, d := range all {
		if d.Server != "" && !o.shown.has(d.Name) {
			news = append(news, d.Name)
		}
	}
	switch {
	case o.catalogue || len(news) == 0:
		return false
	case tokensOf(all) > o.limit || o.whole.Findings() != nil:
		o.catalogue = true
		o.box = o.build()
		return true
	}
	o.shown.add(news...)
	return false
}

func (o *offer) build() *toolbox.Box {
	sources := []toolbox.Source{o.local, o.shown}
	if o.catalogue {
		sources = append(sources, catalog.Over(o.servers, nil))
	}
	return toolbox.NewBox(&toolbox.BoxOptions{Profile: o.profile}, sources...)
}

// tokensOf is about what tools take of each request.
func tokensOf(tools []toolbox.Descriptor) (n int) {
	for _, d := range tools {
		n += len(d.Name) + len(d.Description) + len(d.Parameters)
	}
	return n / bytesPerToken
}

// chosen is the tools of a source that were chosen by name.
type chosen struct {
	toolbox.Source

	mu      sync.Mutex
	names   map[string]bool
	changes uint64            // of names
	of      *toolbox.Snapshot // the source's, of which shown is a part; nil: names have changed since
	shown   *toolbox.Snapshot
}

var _ toolbox.Source = (*chosen)(nil)

func (c *chosen) has(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.names[name]
}

// add chooses more of them; without any it chooses none.
func (c *chosen) add(names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if names == nil {
		clear(c.names)
	}
	for _, name := range names {
		c.names[name] = true
	}
	c.of, c.changes = nil, c.changes+1
}

// Snapshot implements [toolbox.Source]. Nothing is pending: what is not shown cannot be called by its name.
func (c *chosen) Snapshot(who toolbox.Principal) *toolbox.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.Source.Snapshot(who)
	if c.of == s && s != nil {
		return c.shown
	}
	out := *s
	out.Version, out.Pending = s.Version+c.changes, nil
	out.Tools = slices.DeleteFunc(slices.Clone(s.Tools), func(d toolbox.Descriptor) bool { return !c.names[d.Name] })
	c.of, c.shown = s, &out
	return c.shown
}
