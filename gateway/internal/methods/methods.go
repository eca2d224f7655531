// Package methods has the table of the methods on views of several servers, as data, and reads params of requests. It
// has no state. Its errors are the answers to requests.
package methods

import (
	"encoding/json"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// Row describes one method. Methods that the front answers itself have no row: initialize, ping, server/discover,
// logging/setLevel, and resources/subscribe, resources/unsubscribe and subscriptions/listen. For the last three it asks
// the view.
type Row struct {
	Name string
	Era  interop.Era // the only era that has the method; "": both
	// Needs is the server capability that the method depends on, as a path of keys.
	Needs []string
	// LegacyNeeds is the capability in 2025-11-25. If it is nil, it was the same, or there was none.
	LegacyNeeds []string
	Handler     Handler
	Kind        NameKind // of the owner's name in the params
	// List is the member of a merged list that has the rows, and ID is the member that identifies a row.
	List, ID string
	// Announced reports whether list_changed of the feature announces changes of the list.
	Announced bool
	// URIs holds the paths of URIs in the result or, in a merged list, in each row besides ID.
	URIs [][]string
}

// Handler selects the handler of a method.
type Handler int

const (
	FromTools Handler = iota // the toolbox
	FromAll                  // all servers: their rows are one list
	FromOwner                // the server that the params name
)

// NameKind is the kind of the owner's name in the params.
type NameKind int

const (
	ByTool   NameKind = iota + 1 // a name of tools/list
	ByPrompt                     // a name of prompts/list
	ByURI                        // of a resource, listed or not
	ByRef                        // a prompt's name, a resource's URI or a template, in completion/complete
	ByTask                       // a task id of an earlier result
)

// Rows returns the table: every method of 2024-11-05 to 2026-07-28, and of three extensions. These are tasks
// (SEP-2663, before it SEP-1686), apps (SEP-1865, without methods of its own) and skills (SEP-2640). A method that is
// not in the table is passed on unchanged if the view has one server. Other views do not know it.
func Rows() []Row {
	tools, prompts, resources := []string{"tools"}, []string{"prompts"}, []string{"resources"}
	tasks, skills := []string{"extensions", ExtTasks}, []string{"extensions", ExtSkills}
	legacyTasks := []string{"tasks"}
	content := func(key ...string) [][]string { // links and embedded resources
		return [][]string{append(key, "uri"), append(key[:len(key):len(key)], "resource", "uri")}
	}
	return []Row{
		{Name: "tools/list", Needs: tools, Handler: FromTools, Kind: ByTool},
		{
			Name: "tools/call", Needs: tools, Handler: FromTools, Kind: ByTool, URIs: content("content", wire.EachOf),
		},

		{
			Name: "prompts/list", Needs: prompts, Handler: FromAll,
			List: "prompts", ID: "name", Kind: ByPrompt, Announced: true,
		},
		{
			Name: protocol.MethodPromptsGet, Needs: prompts, Handler: FromOwner, Kind: ByPrompt,
			URIs: content("messages", wire.EachOf, "content", wire.EachOf),
		},

		{
			Name: "resources/list", Needs: resources, Handler: FromAll,
			List: "resources", ID: "uri", Kind: ByURI, Announced: true,
		},
		{
			Name: "resources/templates/list", Needs: resources, Handler: FromAll,
			List: "resourceTemplates", ID: "uriTemplate", Kind: ByURI, Announced: true,
		},
		{
			Name: "resources/read", Needs: resources, Handler: FromOwner, Kind: ByURI,
			URIs: [][]string{{"contents", wire.EachOf, "uri"}},
		},

		{Name: "completion/complete", Needs: []string{"completions"}, Handler: FromOwner, Kind: ByRef},

		{
			Name: "skills/list", Needs: skills, Handler: FromAll, List: "skills", ID: "uri", Kind: ByURI,
			URIs: [][]string{{"resources", wire.EachOf, "uri"}},
		},
		{
			Name: "skills/get", Needs: skills, Handler: FromOwner, Kind: ByURI,
			URIs: [][]string{{"skill", "uri"}, {"skill", "resources", wire.EachOf, "uri"}},
		},
		{
			Name: "resources/directory/read", Needs: skills, Handler: FromOwner, Kind: ByURI,
			URIs: [][]string{{"resources", wire.EachOf, "uri"}},
		},

		{
			Name: "tasks/get", Needs: tasks, LegacyNeeds: legacyTasks, Handler: FromOwner, Kind: ByTask,
			URIs: content("result", "content", wire.EachOf),
		},
		{Name: "tasks/update", Era: interop.Modern, Needs: tasks, Handler: FromOwner, Kind: ByTask},
		{Name: "tasks/cancel", Needs: tasks, LegacyNeeds: legacyTasks, Handler: FromOwner, Kind: ByTask},
		{
			Name: "tasks/result", Era: interop.Legacy, Needs: legacyTasks, Handler: FromOwner, Kind: ByTask,
			URIs: content("content", wire.EachOf),
		},
	}
}

// The table uses methods and members of these extensions.
const (
	ExtTasks  = "io.modelcontextprotocol/tasks"
	ExtSkills = "io.modelcontextprotocol/skills"
	ExtApps   = "io.modelcontextprotocol/ui"
)

// AppLinks returns the present and the former path at which a tool names the page for its results (SEP-1865).
func AppLinks() [][]string {
	return [][]string{{"_meta", "ui", "resourceUri"}, {"_meta", "ui/resourceUri"}}
}

// Table returns the table by name.
func Table() map[string]*Row {
	rows := Rows()
	byName := make(map[string]*Row, len(rows))
	for i := range rows {
		byName[rows[i].Name] = &rows[i]
	}
	return byName
}

// Member returns the value of a key in the params of a request. It returns an error if the key is missing or
// stands twice, because the value decides which server gets the request.
func Member(m interop.Message, obj json.RawMessage, key string) (json.RawMessage, error) {
	value, err := protocol.OneMember(obj, key)
	switch {
	case err != nil:
		return nil, protocol.InvalidParams(m.Method, "%v", err)
	case value == nil:
		return nil, protocol.InvalidParams(m.Method, "the params lack %q", key)
	}
	return value, nil
}

// String is Member for a string.
func String(m interop.Message, obj json.RawMessage, key string) (string, error) {
	raw, err := Member(m, obj, key)
	if err != nil {
		return "", err
	}
	s, ok := wire.Unquote(raw)
	if !ok {
		return "", protocol.InvalidParams(m.Method, "%q is not a string", key)
	}
	return s, nil
}
