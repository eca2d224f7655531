package examples_test

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// The code of docs/schemas.md.
var _ = func(ctx context.Context, sources []toolbox.Source, servers []interop.Server, name, description string, inputSchema, arguments json.RawMessage,
	send func(name, description string, schema json.RawMessage), call func(name string, arguments json.RawMessage)) error {
	box := toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.OpenAI}, sources...)        // nil is schema.Original
	mounted := interop.Mount(ctx, servers, &interop.MountOptions{Profile: schema.Gemini}) // nil is Universal

	adapted, err := schema.Adapt(inputSchema, schema.Universal) // err: the reason why no model can get the tool
	text, _ := adapted.Describe(description, schema.Universal)  // ends with facts that the root of the schema cannot express
	send(name, text, adapted.Schema)
	call(name, adapted.Restore(arguments))
	_, _ = box, mounted
	return err
}
