package catalog

import (
	"encoding/json"
	"strings"

	"github.com/indusagi/indus/toolbox"
)

// toolText describes one of the four tools to models. "$" stands for the prefix.
type toolText struct {
	name, description, schema string
	readOnly                  bool
}

var toolTexts = []toolText{
	{
		"search", "Find operations by what they do. Begin here, then use $schema, then $call.",
		`{"type":"object","properties":{` +
			`"query":{"type":"string","description":"What you want to do, in a few words. Empty: list all."},` +
			`"limit":{"type":"integer","description":"How many to show: 10 if absent, at most 50."}},"required":["query"]}`,
		true,
	},
	{
		"schema", "Show the input schema, the output and the errors of one operation. " +
			"Read it before you call the operation for the first time.",
		`{"type":"object","properties":{"operation":{"type":"string","description":"Its name, as $search shows it."},` +
			`"full":{"type":"boolean","description":"Shorten nothing."}},"required":["operation"]}`,
		true,
	},
	{
		"call", "Run one operation.",
		`{"type":"object","properties":{"operation":{"type":"string","description":"Its name, as $search shows it."},` +
			`"input":{"type":"object","properties":{},"description":"What its schema asks for."}},"required":["operation"]}`,
		false,
	},
	{
		"batch", "Run several operations at once, none of which needs another's result. " +
			"The results come in the same order; one that fails does not stop the others.",
		`{"type":"object","properties":{"calls":{"type":"array","description":"At most 50.","items":` +
			`{"type":"object","properties":{` +
			`"operation":{"type":"string","description":"Its name, as $search shows it."},` +
			`"input":{"type":"object","properties":{},"description":"What its schema asks for."}},` +
			`"required":["operation"]}}},"required":["calls"]}`,
		false,
	},
}

func descriptors(o *Options) []toolbox.Descriptor {
	list := make([]toolbox.Descriptor, len(toolTexts))
	for i, tool := range toolTexts {
		fill := strings.NewReplacer("$", o.Prefix).Replace
		name := o.Prefix + tool.name
		d := toolbox.Descriptor{
			Name: name, Tool: name, Description: fill(tool.description), Schema: json.RawMessage(fill(tool.schema)),
		}
		if i == 0 && o.About != "" {
			d.Description += " " + o.About
		}
		if tool.readOnly {
			d.Annotations = &toolbox.Annotations{ReadOnly: true}
		}
		list[i] = d
	}
	return list
}
