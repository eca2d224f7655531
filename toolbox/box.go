package toolbox

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/indusagi/indus/schema"
)

// BoxOptions say how a [Box] shows tools to models. nil and the zero value are good.
type BoxOptions struct {
	// Profile shapes the schemas and descriptions that models see, of all tools; nil:
	// of each tool Descriptor.Profile does, or Default.
	Profile *schema.Profile
	// Default is the profile of the tools that have none, where Profile is nil; nil is
	// [schema.Original].
	Default *schema.Profile
	// Unvalidated lets [Box.Run] send arguments that do not fit the tool's schema,
	// for the tool to judge. false: they are refused.
	Unvalidated bool
	// Around wraps every call, from Do and from Run alike: the place to name, time,
	// count or refuse it. The first is the outermost.
	Around []func(next Do) Do
	// Budget is how many bytes of one call's output a model is shown; what is
	// beyond is cut from the middle. 0 is [DefaultBudget], negative cuts nothing.
	Budget int
}

// Box is the tools of several sources as one set, like [Join], and prepares them for models: Do is
// exact, [Box.Run] is for models. It is a [Source] itself. All methods are safe for concurrent use.
type Box struct {
	profile   *schema.Profile // nil: each tool's own
	byDefault *schema.Profile
	validates bool
	budget    int
	around    Do
	tools     *joined
}

var _ Source = (*Box)(nil)

// NewBox is a box over sources, in order of precedence, none of which is nil. It asks nothing of them
// before somebody asks it. nil options are good.
func NewBox(o *BoxOptions, sources ...Source) *Box {
	if o == nil {
		o = &BoxOptions{}
	}
	b := &Box{profile: o.Profile, byDefault: o.Default, validates: !o.Unvalidated, budget: cmp.Or(o.Budget, DefaultBudget)}
	b.tools = &joined{sources: slices.Clone(sources), prepare: b.modelTool}
	if b.byDefault == nil {
		b.byDefault = schema.Original
	}
	b.around = b.tools.Do
	for _, wrap := range slices.Backward(o.Around) {
		b.around = wrap(b.around)
	}
	return b
}

// Snapshot implements [Source]. Parameters and Changes are filled by the box's profile;
// Description is the owner's, for whoever publishes it. A tool that no model can be
// shown is in it all the same, with the reason in Excluded.
func (b *Box) Snapshot(p Principal) *Snapshot { return b.tools.Snapshot(p) }

// Watch implements [Source]. It reports each source's changes, even where they change nothing
// that a principal sees: then the Version of their Snapshot stays too.
func (b *Box) Watch(changed func()) (stop func()) { return b.tools.Watch(changed) }

// Do implements [Source]: the call goes to its source exactly as it is, as [Join] says.
func (b *Box) Do(ctx context.Context, c Call) (*Result, error) { return b.around(ctx, c) }

// Descriptors are the tools to show a model that works for the local user: those of
// Snapshot that are fit, in order, with the descriptions for models. The slice is the
// caller's own. Give the model Name, Description and Parameters.
func (b *Box) Descriptors() []Descriptor {
	v := b.tools.view("")
	fit := make([]Descriptor, 0, len(v.all.Tools))
	for _, d := range v.all.Tools {
		if d.Excluded == "" {
			d.Description = v.tools[d.Name].model.description
			fit = append(fit, d)
		}
	}
	return fit
}

// Findings are what the profile's provider would refuse of Descriptors as a whole: more
// tools than one request may have, or more of what it counts over all of them. Where tools have profiles of their own, the strictest
// of them counts for all, because one request has all. nil: nothing. Show a model fewer
// then: those that it needs of Descriptors, or a box over fewer sources.
func (b *Box) Findings() []schema.Finding {
	var fit []json.RawMessage
	strictest := b.profileOf(&Descriptor{})
	for _, d := range b.Descriptors() {
		fit = append(fit, d.Parameters)
		if p := b.profileOf(&d); p != strictest && isStricter(p, strictest) {
			strictest = p
		}
	}
	return schema.CheckRequest(fit, strictest)
}

// isStricter reports whether p's provider takes fewer tools than o's.
func isStricter(p, o *schema.Profile) bool {
	most, others := p.Rules().Tool.MaxTools, o.Rules().Tool.MaxTools
	return most > 0 && (others <= 0 || most < others)
}

// profileOf is the profile that shapes a tool; never nil.
func (b *Box) profileOf(d *Descriptor) *schema.Profile {
	switch {
	case b.profile != nil:
		return b.profile
	case d.Profile != nil:
		return d.Profile
	}
	return b.byDefault
}
