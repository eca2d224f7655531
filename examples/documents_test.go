package examples_test

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// The code of docs/schemas.md.
var _ = func(ctx context.Context, sources []toolbox.Source, servers []config.Server, name, description string, inputSchema, arguments json.RawMessage,
	send func(name, description string, schema json.RawMessage), call func(name string, arguments json.RawMessage)) error {
	box := toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.OpenAI}, sources...)        // nil is original
	mounted := interop.Mount(ctx, servers, &interop.MountOptions{Profile: schema.Gemini}) // nil is universal

	adapted, err := schema.Adapt(inputSchema, schema.Universal) // err: the tool is not to be shown, and why
	text, _ := adapted.Describe(description, schema.Universal)  // what the root's schema could not say is at its end
	send(name, text, adapted.Schema)
	call(name, adapted.Restore(arguments))
	_, _ = box, mounted
	return err
}
