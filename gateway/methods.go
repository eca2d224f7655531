package gateway

import (
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// methodRow is what becomes of one method: a row of the table. Methods that the front answers by itself have none:
// initialize, ping, server/discover, logging/setLevel; and resources/subscribe, resources/unsubscribe and
// subscriptions/listen, for which it asks the view (subscribe.go).
type methodRow struct {
	name string
	era  interop.Era // the only one that has it; "": both
	// needs is the server capability that it stands or falls with, as a path of keys.
	needs []string
	// before is the one that it had in 2025-11-25; nil: the same, or it had none.
	before []string
	does   answerer
	// at is where in the params the owner's name stands, and names what that is.
	at    []string
	names subject
	// list is, of a merged list, the member that has the rows, and id that which tells them apart.
	list, id string
	// follows: list_changed of its feature says when the list is another one.
	follows bool
	// uris is where URIs stand in the result; of a merged list, in each row, id aside.
	uris [][]string
}

// answerer is who answers a method.
type answerer int

const (
	fromTools answerer = iota // the toolbox
	fromAll                   // all servers: their rows are one list
	fromOwner                 // the server that the params name
)

// subject is what the owner's name in the params is.
type subject int

const (
	byTool   subject = iota + 1 // a name of tools/list
	byPrompt                    // a name of prompts/list
	byURI                       // of a resource, listed or not
	byRef                       // a prompt's name, a resource's URI or a template: completion/complete
	byTask                      // an id that a result has brought
)

// methods is the table: every method of 2024-11-05 to 2026-07-28, and of the extensions tasks (SEP-2663, and
// before it SEP-1686), apps (SEP-1865, which has no methods of its own) and skills (SEP-2640). A method that
// is not here goes to the server as it is where a view has one, and is unknown elsewhere.
func methods() []methodRow {
	tools, prompts, resources := []string{"tools"}, []string{"prompts"}, []string{"resources"}
	tasks, skills := []string{"extensions", extTasks}, []string{"extensions", extSkills}
	tasksBefore := []string{"tasks"}
	uri, task := []string{"uri"}, []string{"taskId"}
	content := func(key ...string) [][]string { // links and embedded resources
		return [][]string{append(key, "uri"), append(key[:len(key):len(key)], "resource", "uri")}
	}
	return []methodRow{
		{name: "tools/list", needs: tools, does: fromTools, names: byTool},
		{name: "tools/call", needs: tools, does: fromTools, at: []string{"name"}, names: byTool, uris: content("content", wire.EachOf)},

		{name: "prompts/list", needs: prompts, does: fromAll, list: "prompts", id: "name", names: byPrompt, follows: true},
		{name: "prompts/get", needs: prompts, does: fromOwner, at: []string{"name"}, names: byPrompt, uris: content("messages", wire.EachOf, "content", wire.EachOf)},

		{name: "resources/list", needs: resources, does: fromAll, list: "resources", id: "uri", names: byURI, follows: true},
		{name: "resources/templates/list", needs: resources, does: fromAll, list: "resourceTemplates", id: "uriTemplate", names: byURI, follows: true},
		{name: "resources/read", needs: resources, does: fromOwner, at: uri, names: byURI, uris: [][]string{{"contents", wire.EachOf, "uri"}}},

		{name: "completion/complete", needs: []string{"completions"}, does: fromOwner, at: []string{"ref"}, names: byRef},

		{name: "skills/list", needs: skills, does: fromAll, list: "skills", id: "uri", names: byURI, uris: [][]string{{"resources", wire.EachOf, "uri"}}},
		{name: "skills/get", needs: skills, does: fromOwner, at: uri, names: byURI, uris: [][]string{{"skill", "uri"}, {"skill", "resources", wire.EachOf, "uri"}}},
		{name: "resources/directory/read", needs: skills, does: fromOwner, at: uri, names: byURI, uris: [][]string{{"resources", wire.EachOf, "uri"}}},

		{name: "tasks/get", needs: tasks, before: tasksBefore, does: fromOwner, at: task, names: byTask, uris: content("result", "content", wire.EachOf)},
		{name: "tasks/update", era: interop.Modern, needs: tasks, does: fromOwner, at: task, names: byTask},
		{name: "tasks/cancel", needs: tasks, before: tasksBefore, does: fromOwner, at: task, names: byTask},
		{name: "tasks/result", era: interop.Legacy, needs: tasksBefore, does: fromOwner, at: task, names: byTask, uris: content("content", wire.EachOf)},
	}
}

// The extensions whose methods and members the table knows.
const (
	extTasks  = "io.modelcontextprotocol/tasks"
	extSkills = "io.modelcontextprotocol/skills"
	extApps   = "io.modelcontextprotocol/ui"
)

// appLinks is where a tool names the page that shows its results (SEP-1865): as Apps has it, and as it was before.
func appLinks() [][]string {
	return [][]string{{"_meta", "ui", "resourceUri"}, {"_meta", "ui/resourceUri"}}
}

// methodTable is the table by name.
func methodTable() map[string]*methodRow {
	rows := methods()
	byName := make(map[string]*methodRow, len(rows))
	for i := range rows {
		byName[rows[i].name] = &rows[i]
	}
	return byName
}
