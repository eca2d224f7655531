package gateway

import (
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// methodRow describes one method. Methods that the front answers itself have no row: initialize, ping, server/discover,
// logging/setLevel, and resources/subscribe, resources/unsubscribe and subscriptions/listen. For the last three it asks
// the view (subscribe.go).
type methodRow struct {
	name string
	era  interop.Era // the only era that has the method; "": both
	// needs is the server capability that the method depends on, as a path of keys.
	needs []string
	// legacyNeeds is the capability in 2025-11-25. If it is nil, it was the same, or there was none.
	legacyNeeds []string
	handler     handlerKind
	// ownerPath is the path in the params at which the owner's name stands, and names is the kind of this name.
	ownerPath []string
	kind      nameKind
	// list is the member of a merged list that has the rows, and id is the member that identifies a row.
	list, id string
	// announced reports whether list_changed of the feature announces changes of the list.
	announced bool
	// uris holds the paths of URIs in the result or, in a merged list, in each row besides id.
	uris [][]string
}

// handlerKind selects the handler of a method.
type handlerKind int

const (
	fromTools handlerKind = iota // the toolbox
	fromAll                      // all servers: their rows are one list
	fromOwner                    // the server that the params name
)

// nameKind is the kind of the owner's name in the params.
type nameKind int

const (
	byTool   nameKind = iota + 1 // a name of tools/list
	byPrompt                     // a name of prompts/list
	byURI                        // of a resource, listed or not
	byRef                        // a prompt's name, a resource's URI or a template, in completion/complete
	byTask                       // a task id of an earlier result
)

// methods returns the table: every method of 2024-11-05 to 2026-07-28, and of three extensions. These are tasks
// (SEP-2663, before it SEP-1686), apps (SEP-1865, without methods of its own) and skills (SEP-2640). A method that is
// not in the table is passed on unchanged if the view has one server. Other views do not know it.
func methods() []methodRow {
	tools, prompts, resources := []string{"tools"}, []string{"prompts"}, []string{"resources"}
	tasks, skills := []string{"extensions", extTasks}, []string{"extensions", extSkills}
	legacyTasks := []string{"tasks"}
	uri, task := []string{"uri"}, []string{"taskId"}
	content := func(key ...string) [][]string { // links and embedded resources
		return [][]string{append(key, "uri"), append(key[:len(key):len(key)], "resource", "uri")}
	}
	return []methodRow{
		{name: "tools/list", needs: tools, handler: fromTools, kind: byTool},
		{
			name: "tools/call", needs: tools, handler: fromTools, ownerPath: []string{"name"}, kind: byTool,
			uris: content("content", wire.EachOf),
		},

		{
			name: "prompts/list", needs: prompts, handler: fromAll,
			list: "prompts", id: "name", kind: byPrompt, announced: true,
		},
		{
			name: "prompts/get", needs: prompts, handler: fromOwner, ownerPath: []string{"name"}, kind: byPrompt,
			uris: content("messages", wire.EachOf, "content", wire.EachOf),
		},

		{
			name: "resources/list", needs: resources, handler: fromAll,
			list: "resources", id: "uri", kind: byURI, announced: true,
		},
		{
			name: "resources/templates/list", needs: resources, handler: fromAll,
			list: "resourceTemplates", id: "uriTemplate", kind: byURI, announced: true,
		},
		{
			name: "resources/read", needs: resources, handler: fromOwner, ownerPath: uri, kind: byURI,
			uris: [][]string{{"contents", wire.EachOf, "uri"}},
		},

		{
			name: "completion/complete", needs: []string{"completions"}, handler: fromOwner, ownerPath: []string{"ref"},
			kind: byRef,
		},

		{
			name: "skills/list", needs: skills, handler: fromAll, list: "skills", id: "uri", kind: byURI,
			uris: [][]string{{"resources", wire.EachOf, "uri"}},
		},
		{
			name: "skills/get", needs: skills, handler: fromOwner, ownerPath: uri, kind: byURI,
			uris: [][]string{{"skill", "uri"}, {"skill", "resources", wire.EachOf, "uri"}},
		},
		{
			name: "resources/directory/read", needs: skills, handler: fromOwner, ownerPath: uri, kind: byURI,
			uris: [][]string{{"resources", wire.EachOf, "uri"}},
		},

		{
			name: "tasks/get", needs: tasks, legacyNeeds: legacyTasks, handler: fromOwner, ownerPath: task, kind: byTask,
			uris: content("result", "content", wire.EachOf),
		},
		{name: "tasks/update", era: interop.Modern, needs: tasks, handler: fromOwner, ownerPath: task, kind: byTask},
		{name: "tasks/cancel", needs: tasks, legacyNeeds: legacyTasks, handler: fromOwner, ownerPath: task, kind: byTask},
		{
			name: "tasks/result", era: interop.Legacy, needs: legacyTasks, handler: fromOwner, ownerPath: task, kind: byTask,
			uris: content("content", wire.EachOf),
		},
	}
}

// The table uses methods and members of these extensions.
const (
	extTasks  = "io.modelcontextprotocol/tasks"
	extSkills = "io.modelcontextprotocol/skills"
	extApps   = "io.modelcontextprotocol/ui"
)

// appLinks returns the present and the former path at which a tool names the page for its results (SEP-1865).
func appLinks() [][]string {
	return [][]string{{"_meta", "ui", "resourceUri"}, {"_meta", "ui/resourceUri"}}
}

// methodTable returns the table by name.
func methodTable() map[string]*methodRow {
	rows := methods()
	byName := make(map[string]*methodRow, len(rows))
	for i := range rows {
		byName[rows[i].name] = &rows[i]
	}
	return byName
}

// requiredMember returns the value of a key in the params of a request. It returns an error if the key is missing or
// stands twice, because the value decides which server gets the request.
func requiredMember(m interop.Message, obj json.RawMessage, key string) (json.RawMessage, error) {
	value, err := protocol.OneMember(obj, key)
	switch {
	case err != nil:
		return nil, invalidParams(m, "%v", err)
	case value == nil:
		return nil, invalidParams(m, "the params lack %q", key)
	}
	return value, nil
}

// requiredString is requiredMember for a string.
func requiredString(m interop.Message, obj json.RawMessage, key string) (string, error) {
	raw, err := requiredMember(m, obj, key)
	if err != nil {
		return "", err
	}
	s, ok := wire.Unquote(raw)
	if !ok {
		return "", invalidParams(m, "%q is not a string", key)
	}
	return s, nil
}

func invalidParams(m interop.Message, format string, args ...any) error {
	return &interop.RPCError{Code: interop.CodeInvalidParams, Message: m.Method + ": " + fmt.Sprintf(format, args...)}
}

func methodNotFound(m interop.Message) error {
	return &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "method not found: " + m.Method}
}
