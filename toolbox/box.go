package toolbox

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
)

// BoxOptions configure how a [Box] shows tools to models. nil and the zero value are valid.
type BoxOptions struct {
	// Profile shapes the schemas and descriptions of all tools for models. If it is nil, each tool uses its own
	// Descriptor.Profile, or Default.
	Profile *schema.Profile
	// Default is the profile of tools without a profile of their own; it matters only if Profile is nil. nil means
	// [schema.Original].
	Default *schema.Profile
	// Unvalidated lets [Box.Run] send arguments that do not fit the tool's schema, so that the tool judges them. If it
	// is false, such arguments are refused.
	Unvalidated bool
	// Around wraps every call from Do and from Run, for example to name, time, count or refuse it. The first function
	// is the outermost.
	Around []func(next Do) Do
	// Budget is the number of bytes of one call's output that a model is shown. Longer output is cut in the middle. If
	// it is 0, it is [DefaultBudget]. A negative value cuts nothing.
	Budget int
}

// Box joins the tools of several sources, like [Join], and prepares them for models. Do is exact, and [Box.Run] is for
// models. A Box is itself a [Source]. All methods are safe for concurrent use.
type Box struct {
	opts  BoxOptions
	do    Do
	tools *joined
}

var _ Source = (*Box)(nil)

// NewBox returns a box over sources, in order of precedence. No source may be nil. NewBox calls no method of the
// sources. nil options are valid.
func NewBox(o *BoxOptions, sources ...Source) *Box {
	b := &Box{opts: *cmp.Or(o, &BoxOptions{})}
	b.opts.Default, b.opts.Budget = cmp.Or(b.opts.Default, schema.Original), cmp.Or(b.opts.Budget, DefaultBudget)
	b.tools = &joined{sources: slices.Clone(sources), prepare: b.modelTool}
	b.do = b.tools.Do
	for _, wrap := range slices.Backward(b.opts.Around) {
		b.do = wrap(b.do)
	}
	return b
}

// Snapshot implements [Source]. The box's profile determines Parameters and Changes; Description is the owner's text,
// for publishing. A tool that cannot be shown to models is included, with the reason in Excluded.
func (b *Box) Snapshot(p Principal) *Snapshot { return b.tools.Snapshot(p) }

// Watch implements [Source]. It reports every change of a source, even if no principal sees a difference. In that case
// the Version of their Snapshot does not change.
func (b *Box) Watch(changed func()) (stop func()) { return b.tools.Watch(changed) }

// Do implements [Source]. It passes the call to its source unchanged, as described at [Join].
func (b *Box) Do(ctx context.Context, c Call) (*Result, error) { return b.do(ctx, c) }

// Descriptors returns the tools to show to a model that works for the local user. These are the tools of Snapshot that
// are not excluded, in order, with the descriptions for models. The caller owns the slice. Give the model Name,
// Description and Parameters.
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

// Findings returns the reasons for which the profile's provider would refuse all of Descriptors in one request. For
// example, there are too many tools, or a total over all tools is too large. If tools have profiles of their own, the
// strictest profile applies to all, because one request contains all tools. nil means that there are no findings. If
// there are findings, show the model fewer tools: only the Descriptors that it needs, or a box over fewer sources.
func (b *Box) Findings() []rule.Finding {
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

// isStricter reports whether p's provider accepts fewer tools than o's.
func isStricter(p, o *schema.Profile) bool {
	limit, otherLimit := p.Rules().Tool.MaxTools, o.Rules().Tool.MaxTools
	return limit > 0 && (otherLimit <= 0 || limit < otherLimit)
}

// profileOf returns the profile that shapes a tool. It is never nil.
func (b *Box) profileOf(d *Descriptor) *schema.Profile {
	return cmp.Or(b.opts.Profile, d.Profile, b.opts.Default)
}
