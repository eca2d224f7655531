package toolbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/validate"
)

// fit is what a Box made of one tool for models. It never changes, and is kept as long
// as the tool is the same.
type fit struct {
	// What its source shows of the tool.
	name, server, prose, refused string
	schema                       json.RawMessage
	profile                      *schema.Profile // the one that shaped it

	unfit       string // why models are not shown it
	adapted     *schema.Adapted
	description string // for models
	changes     []schema.Change
	validator   func() *validate.Validator // which gives nil where the schema cannot be used
}

// fit is what models see of d, or why they see nothing. Of a tool that was there before
// much is known already.
func (b *Box) fit(d *Descriptor, before *fit) *fit {
	same := before != nil && before.profile == b.profileOf(d) && bytes.Equal(before.schema, d.Schema)
	if same && before.isOf(d) {
		return before
	}
	return b.newFit(d, before, same)
}

func (b *Box) newFit(d *Descriptor, before *fit, same bool) *fit {
	f := &fit{
		name: d.Name, server: d.Server, prose: d.Description, refused: d.Excluded, schema: d.Schema, unfit: d.Excluded,
		profile: b.profileOf(d),
	}
	if same {
		f.validator, f.adapted = before.validator, before.adapted
	} else {
		f.validator = lazyValidator(f.schema)
	}
	if f.unfit == "" && !isPlainName(d.Name) {
		f.unfit = "its name is not a letter and up to 63 letters, digits, _ and -"
	}
	if f.unfit == "" && f.adapted == nil {
		f.adapted, f.unfit = adapt(d.Schema, f.profile)
	}
	if f.unfit == "" {
		f.describe(f.profile)
	}
	return f
}

// isOf reports whether f was made of d; of the schema it is known.
func (f *fit) isOf(d *Descriptor) bool {
	return f.name == d.Name && f.prose == d.Description && f.server == d.Server && f.refused == d.Excluded
}

// adapt shapes a schema for models, or says why no provider would take it.
func adapt(raw json.RawMessage, p *schema.Profile) (*schema.Adapted, string) {
	adapted, err := schema.Adapt(raw, p)
	if err == nil && p == schema.Original {
		err = schema.Measure(raw, schema.Limits{})
	}
	switch {
	case err != nil:
		return nil, strings.TrimPrefix(err.Error(), "schema: ")
	case bytes.TrimLeft(raw, space)[0] != '{':
		return nil, "its schema is not a JSON object"
	}
	return adapted, ""
}

// describe writes the description for models.
func (f *fit) describe(p *schema.Profile) {
	text, changes := schema.Describe(f.prose, p)
	if strings.TrimSpace(text) == "" && p.Rules().Tool.MinDescription > 0 {
		text = f.name + ", a tool"
		if f.server != "" {
			text += " of " + f.server
		}
		changes = append(changes, schema.Change{Rule: schema.RuleDescription, Did: "gave it a description, for it has none"})
	}
	whole, more := f.adapted.Describe(text, p)
	f.description = whole
	f.changes = append(append(changes, more...), f.adapted.Changes...)
}

// fill puts what f knows into d.
func (f *fit) fill(d *Descriptor) {
	d.Excluded, d.Parameters, d.Changes = f.unfit, nil, nil
	if f.unfit == "" {
		d.Parameters, d.Changes = f.adapted.Schema, f.changes
	}
}

// restore turns arguments for the model's schema into arguments for the owner's.
func (f *fit) restore(input json.RawMessage) json.RawMessage {
	if f.adapted == nil {
		return input
	}
	return f.adapted.Restore(input)
}

// check says what is wrong with arguments for the owner's schema, in the terms of the
// model's; nil also where nobody can tell.
func (f *fit) check(input json.RawMessage, wanted bool) error {
	if !wanted {
		return nil
	}
	err := misfit(f.validator(), input)
	if wrong, ok := errors.AsType[*validate.Error](err); ok && f.adapted != nil {
		return wrong.In(f.adapted.Path)
	}
	return err
}

// lazyValidator makes a schema's validator when it is first asked for; nil where the schema cannot be used.
func lazyValidator(schema json.RawMessage) func() *validate.Validator {
	return sync.OnceValue(func() *validate.Validator {
		v, _ := validate.New(schema)
		return v
	})
}

// misfit is what v finds wrong with arguments; nil also where nobody can tell.
func misfit(v *validate.Validator, input json.RawMessage) error {
	if v == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*validate.Error](v.Validate(input)); ok {
		return wrong
	}
	return nil
}

func isPlainName(name string) bool {
	for i, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || !('0' <= r && r <= '9' || r == '_' || r == '-')) {
			return false
		}
	}
	return name != "" && len(name) <= 64
}
