package interop

import (
	"bytes"
	"encoding/json"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/conn"
)

// maxCapabilities bounds the capabilities of a client in bytes. They go out with each
// request, and are part of the key of a connection.
const maxCapabilities = 16 << 10

// capabilitiesFor returns the client's capabilities that a server of an era receives: the
// capabilities that can be relayed, as the client wrote them. It returns nil if there are
// none. All extensions pass, because their data travels in requests, results and _meta.
func (c *Client) capabilitiesFor(era Era) json.RawMessage {
	if len(c.Capabilities) > maxCapabilities {
		return nil
	}
	mayAsk := c.Back != nil || c.Era == Modern && era == Modern // a modern client sends its answers with the next request
	var relayed wire.Object
	for _, key := range [...]string{"elicitation", "sampling", "roots", "extensions"} {
		value, ok := wire.Lookup(c.Capabilities, key)
		if !ok || value[0] != '{' || key != "extensions" && !mayAsk {
			continue
		}
		if key == "roots" && c.Era != era { // listChanged needs a session
			value = json.RawMessage(`{}`)
		}
		relayed = relayed.Raw(key, value)
	}
	if relayed == nil {
		return nil
	}
	return relayed.JSON()
}

// metaFor returns the members of _meta that a modern server receives with a client's
// request.
func (e *Endpoint) metaFor(c *Client) []byte {
	if c == nil {
		return e.modernMeta
	}
	capabilities := c.capabilitiesFor(Modern)
	if capabilities == nil && c.LogLevel == "" && e.opts.Capabilities == nil {
		return e.modernMeta
	}
	meta := conn.ModernMeta(e.opts.Info, capabilities)
	meta = meta[1 : len(meta)-1]
	if c.LogLevel != "" {
		meta = append(append(meta, `,"`+protocol.MetaLogLevel+`":`...), wire.Quote(c.LogLevel)...)
	}
	return meta
}

// tasksExtension is the key of the tasks extension (SEP-2663).
const tasksExtension = protocol.MetaPrefix + "tasks"

// declaresTasks reports whether a client declares the tasks extension.
func (c *Client) declaresTasks() bool {
	if c == nil || !bytes.Contains(c.Capabilities, []byte(tasksExtension)) {
		return false
	}
	extensions, _ := wire.Lookup(c.capabilitiesFor(Modern), "extensions")
	_, ok := wire.Lookup(extensions, tasksExtension)
	return ok
}
