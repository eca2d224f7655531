package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/box/broker"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// maxDenials bounds the denials that an endpoint keeps.
const maxDenials = 50

// denials holds the last connections of a server that its sandbox refused.
type denials struct {
	mu    sync.Mutex
	texts []string
	total int
}

// add keeps a denial, each text once.
func (d *denials) add(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.texts = append(slices.DeleteFunc(d.texts, func(o string) bool { return o == text }), text)
	d.texts = d.texts[max(0, len(d.texts)-maxDenials):]
	d.total++
}

// since returns the denials after the first n, and their new number.
func (d *denials) since(n int) (texts []string, total int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	added := min(d.total-n, len(d.texts))
	return slices.Clone(d.texts[len(d.texts)-added:]), d.total
}

// Denied returns sentences about the last connections that the server's sandbox refused.
func (e *Endpoint) Denied() []string {
	texts, _ := e.denials.since(0)
	return texts
}

// deny records a connection that the sandbox of the server refused. It may be called from any goroutine, and does not
// block.
func (e *Endpoint) deny(d broker.Denial) {
	what, target := d.What, protocol.Printable(d.Target, 300) // the server chose it
	verb := map[string]string{"listen": "listen at "}[what]
	if verb == "" {
		verb = "connect to "
	}
	added := target
	if what == "host" && !strings.Contains(target, ":") { // the name was looked up
		added += ":443"
	}
	text := fmt.Sprintf("%s: %s%s: not in its sandbox. Add it: indus mcp sandbox allow %s --%s %s",
		e.server.ID, verb, target, e.server.ID, what, strings.TrimPrefix(added, ":"))
	if d.Reason != "" {
		text = fmt.Sprintf("%s: %s%s: %s. Its sandbox reaches no such address by a name", e.server.ID, verb, target, d.Reason)
	}
	e.denials.add(text)
	e.opts.Logger.Warn("a connection is refused by the sandbox", "server", e.server.ID, what, target)
}

// withDenials wraps calls of tools. If the sandbox refuses a connection during a call, the result has that as a text
// after the content of the server, so that a model does not try again.
func (e *Endpoint) withDenials(next Peer) Peer {
	return func(ctx context.Context, m Message) (json.RawMessage, error) {
		if m.Method != protocol.MethodToolsCall {
			return next(ctx, m)
		}
		_, before := e.denials.since(0)
		result, err := next(ctx, m)
		if err != nil {
			return result, err
		}
		refused, _ := e.denials.since(before)
		for _, text := range refused {
			result = withText(result, text)
		}
		return result, nil
	}
}

// withText returns a result with one more text in its content. A result without content is returned unchanged.
func withText(result json.RawMessage, text string) json.RawMessage {
	content, ok := wire.Lookup(result, "content")
	elements, err := wire.Elements(content)
	if !ok || err != nil {
		return result
	}
	item := wire.Object{}.Text("type", "text").Text("text", text).JSON()
	list := []byte{'['}
	for _, e := range append(elements, item) {
		list = append(append(list, e...), ',')
	}
	list[len(list)-1] = ']'
	out, err := wire.Rewrite(result, wire.Edit{Key: "content", Value: list})
	if err != nil {
		return result
	}
	return out
}
