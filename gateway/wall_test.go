package gateway_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// walled returns a server that supports every method. Everything that it returns has a mark, <ID.PART>, which names the
// part. Each URI contains the server, so that a request shows which server it is for.
func walled(id string) *script {
	own := regexp.MustCompile(`^(\w+://\w*/?)?` + id + `\b|^\w$`) // matches its URIs, names and ids of tasks
	knows := func(name string) bool { return own.MatchString(name) }
	text := func(part string) string { return `{"type":"text","text":"<` + id + `.` + part + `>"}` }
	named := func(key string, more string) func(m interop.Message) (string, error) {
		return func(m interop.Message) (string, error) {
			name, _ := protocol.LookupString(m.Params, key)
			if !knows(name) {
				return "", &interop.RPCError{Code: protocol.CodeLegacyNotFound, Message: "no such thing"}
			}
			return strings.ReplaceAll(more, "NAME", id+"."+name), nil
		}
	}
	rows := func(list, key string, names ...string) func(interop.Message) (string, error) {
		var all []string
		for _, n := range names {
			more := ""
			if list == "tools" {
				more = `,"inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://` + id + "-" + n + `"}}`
			}
			all = append(all, fmt.Sprintf(`{"name":%q,%q:%q,"description":"<%s.%s>"%s}`, n, key, n, id, n, more))
		}
		return replyWith(fmt.Sprintf(`{%q:[%s]}`, list, strings.Join(all, ",")))
	}
	file, skill := "file:///"+id, "skill://"+id+"/k/SKILL.md"
	return &script{answers: map[string]func(interop.Message) (string, error){
		"server/discover": replyWith(`{"capabilities":{"tools":{},"prompts":{},"resources":{"subscribe":true},"completions":{},"logging":{},` +
			`"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}},"extensions":{"` + tasksExtension + `":{},"` + skillsExtension + `":{"directoryRead":true}}},"instructions":"<` + id + `.says>"}`),
		"tools/list": rows("tools", "title", "x", "y"),
		"tools/call": func(m interop.Message) (string, error) {
			name, _ := protocol.LookupString(m.Params, "name")
			if strings.Contains(string(m.Params), `"later"`) {
				return `{"resultType":"task","taskId":"` + id + "-" + name + `","status":"working"}`, nil
			}
			return `{"content":[` + text(name) + `,{"type":"resource_link","name":"l","uri":"` + file + `/u"}]}`, nil
		},
		"prompts/list":             rows("prompts", "title", "p", "q"),
		"prompts/get":              named("name", `{"messages":[{"role":"user","content":{"type":"text","text":"<NAME>"}}]}`),
		"resources/list":           rows("resources", "uri", file+"/r", file+"/s", "ui://"+id+"-x", "ui://"+id+"-y", "ui://"+id+"-z"),
		"resources/templates/list": rows("resourceTemplates", "uriTemplate", id+":///{n}"),
		"resources/read":           named("uri", `{"contents":[{"uri":"x","text":"<NAME>"}]}`),
		"resources/subscribe":      named("uri", `{}`),
		"completion/complete": func(m interop.Message) (string, error) {
			ref, _ := protocol.OneMember(m.Params, "ref")
			name, ok := protocol.LookupString(ref, "name")
			if !ok {
				name, _ = protocol.LookupString(ref, "uri")
			}
			if !knows(name) {
				return "", &interop.RPCError{Code: interop.CodeInvalidParams, Message: "no such thing"}
			}
			return `{"completion":{"values":["<` + id + `.` + name + `>"]}}`, nil
		},
		"skills/list":              rows("skills", "uri", skill),
		"skills/get":               named("uri", `{"skill":{"uri":"x","resources":[]},"of":"<NAME>"}`),
		"resources/directory/read": named("uri", `{"resources":[],"of":"<NAME>"}`),
		"tasks/get":                named("taskId", `{"status":"working","of":"<NAME>"}`),
		"tasks/update":             named("taskId", `{"of":"<NAME>"}`),
		"tasks/cancel":             named("taskId", `{"of":"<NAME>"}`),
		"tasks/result":             named("taskId", `{"content":[],"of":"<NAME>"}`),
	}}
}

const (
	tasksExtension  = "io.modelcontextprotocol/tasks"
	skillsExtension = "io.modelcontextprotocol/skills"
)

var mark = regexp.MustCompile(`<([a-c]\.[^<>]*)>`)

// marks returns the parts that a text names, each once.
func marks(text string) []string {
	found := map[string]bool{}
	for _, m := range mark.FindAllStringSubmatch(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(text), -1) {
		found[m[1]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// wholeServer returns all parts of such a server.
func wholeServer(id string) (parts []string) {
	for _, own := range []string{
		"x", "y", "p", "q", "file:///ID/r", "file:///ID/s", "file:///ID/u", "ui://ID-x", "ui://ID-y", "ui://ID-z",
		"ID:///{n}", "ID:///1", "skill://ID/k/SKILL.md", "says",
	} {
		parts = append(parts, id+"."+strings.ReplaceAll(own, "ID", id))
	}
	return parts
}

// viewAsker sends requests to a view, in one era, and returns the text of each answer.
type viewAsker func(method, params string) string

// modernAsker returns the viewAsker of a modern client that supports tasks.
func modernAsker(t *testing.T, h http.Handler, path string) viewAsker {
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return func(method, params string) string {
		result, failed := postTo(t, web, path, "ann", takesTasks, method, params)
		if failed != nil {
			return "error: " + failed.Error()
		}
		return string(result)
	}
}

// legacyAsker returns the viewAsker of a legacy session.
func legacyAsker(t *testing.T, h http.Handler, path string) viewAsker {
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	session := ""
	return func(method, params string) string {
		if method == "initialize" {
			session = ""
		}
		for range 2 {
			sent, body := method, params
			if session == "" {
				sent, body = "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`
			}
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+path, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, sent, body)))
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"ann"}}
			if session != "" {
				r.Header.Set(protocol.HeaderSession, session)
			}
			resp, err := web.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			first := session == ""
			if first {
				session = resp.Header.Get(protocol.HeaderSession)
			}
			result, failed := answerOf(t, resp.Body)
			_ = resp.Body.Close()
			switch {
			case first && method != "initialize":
			case failed != nil:
				return "error: " + failed.Error()
			default:
				return string(result)
			}
		}
		return ""
	}
}

// TestWalls sends every method of the table to every kind of view, for every part of every server. A view contains only
// the parts that it names.
func TestWalls(t *testing.T) {
	t.Parallel()
	everything := slices.Concat(wholeServer("a"), wholeServer("b"), wholeServer("c"))
	views := map[string]struct {
		gateway.View
		want []string
	}{
		"nothing is said":      {gateway.View{}, everything},
		"servers":              {gateway.View{Servers: []string{"a", "b"}}, slices.Concat(wholeServer("a"), wholeServer("b"))},
		"no servers":           {gateway.View{Servers: []string{}}, nil},
		"one tool":             {gateway.View{Tools: []string{"a__x"}}, []string{"a.x", "a.ui://a-x", "a.says"}},
		"one tool of two":      {gateway.View{Servers: []string{"a", "b"}, Tools: []string{"a__x"}}, []string{"a.x", "a.ui://a-x", "a.says"}},
		"a tool not of it":     {gateway.View{Servers: []string{"b"}, Tools: []string{"a__x"}}, nil},
		"no tools":             {gateway.View{Tools: []string{}}, nil},
		"tools of all servers": {gateway.View{Servers: []string{"a", "b"}, Tools: []string{"*__x"}}, []string{"a.x", "a.ui://a-x", "a.says", "b.x", "b.ui://b-x", "b.says"}},
		"names of a server":    {gateway.View{Tools: []string{"a__*"}}, []string{"a.x", "a.y", "a.p", "a.q", "a.ui://a-x", "a.ui://a-y", "a.says"}},
		"one prompt":           {gateway.View{Prompts: []string{"b__p"}}, []string{"b.p", "b.says"}},
		"prompts apart":        {gateway.View{Tools: []string{"*__x"}, Prompts: []string{}, Servers: []string{"c"}}, []string{"c.x", "c.ui://c-x", "c.says"}},
		"one resource":         {gateway.View{Resources: []string{"a__file:///a/r"}}, []string{"a.file:///a/r", "a.says"}},
		"a directory":          {gateway.View{Resources: []string{"a__file:///a/*"}}, []string{"a.file:///a/r", "a.file:///a/s", "a.file:///a/u", "a.says"}},
		"a template":           {gateway.View{Resources: []string{"c__c:///{n}"}}, []string{"c.c:///{n}", "c.c:///1", "c.says"}},
		"a skill":              {gateway.View{Resources: []string{"b__skill://*"}}, []string{"b.skill://b/k/SKILL.md", "b.says"}},
		"a bit of each": {gateway.View{Tools: []string{"a__x"}, Prompts: []string{"b__q"}, Resources: []string{"c__file:///c/s"}},
			[]string{"a.x", "a.ui://a-x", "a.says", "b.q", "b.says", "c.file:///c/s", "c.says"}},
		"behind four tools": {gateway.View{Tools: []string{"a__x"}, Expose: func(s toolbox.Source) toolbox.Source { return catalog.Over(s, nil) }}, []string{"a.x", "a.ui://a-x", "a.says"}},
	}
	opts := gateway.Options{Views: map[string]gateway.View{}, Host: host.Options{Authenticate: func(*http.Request) (toolbox.Principal, error) { return "ann", nil }}}
	for name, v := range views {
		opts.Views[strings.ReplaceAll(name, " ", "-")] = v.View
	}
	g := scripts{"a": walled("a"), "b": walled("b"), "c": walled("c")}.open(t, opts, config.Server{ID: "a"}, config.Server{ID: "b"}, config.Server{ID: "c"})
	tasks := map[string]string{} // ids by part; made on the view of everything
	all := modernAsker(t, g.Handler(), "/mcp")
	for _, s := range []string{"a", "b", "c"} {
		id, _ := protocol.LookupString(json.RawMessage(all("tools/call", `{"name":"`+s+`__x","arguments":{"later":true}}`)), "taskId")
		tasks[s+".x"] = id
	}
	views["/mcp/a"] = struct {
		gateway.View
		want []string
	}{want: wholeServer("a")}
	for name, v := range views {
		path := "/mcp/@" + strings.ReplaceAll(name, " ", "-")
		if name[0] == '/' {
			path = name
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for era, ask := range map[interop.Era]viewAsker{interop.Modern: modernAsker(t, g.Handler(), path), interop.Legacy: legacyAsker(t, g.Handler(), path)} {
				w := wall{T: t, ask: ask, era: era, single: name[0] == '/', exposed: v.Expose != nil, want: v.want, all: everything, tasks: tasks}
				for _, method := range append(slices.Collect(maps.Keys(methods.Table())), "server/discover", "initialize", "resources/subscribe", "resources/unsubscribe") {
					probe := wallProbes[method]
					if probe == nil {
						t.Errorf("%s has no probe here: write one", method)
						continue
					}
					w.method = method
					probe(&w)
				}
			}
		})
	}
}

// wall probes one view, in one era, with one method.
type wall struct {
	*testing.T
	ask             viewAsker
	era             interop.Era
	method          string
	single, exposed bool
	want, all       []string
	tasks           map[string]string
}

// wallProbes holds the requests for each method.
var wallProbes = map[string]func(*wall){
	"tools/list": func(w *wall) {
		want := w.these(`x|y`)
		if w.exposed { // the four tools of the catalog have no marks
			want = nil
		}
		w.lists(want)
	},
	"tools/call": func(w *wall) {
		if w.exposed {
			w.each(`x|y`, func(server, own string) string {
				return `{"name":"call","arguments":{"operation":"` + server + "__" + own + `","input":{}}}`
			})
			return
		}
		w.each(`x|y`, func(server, own string) string { return `{"name":"` + w.name(server, own) + `","arguments":{}}` })
	},
	"prompts/list": func(w *wall) { w.lists(w.these(`p|q`)) },
	"prompts/get": func(w *wall) {
		w.each(`p|q`, func(server, own string) string { return `{"name":"` + w.name(server, own) + `"}` })
	},
	"resources/list":           func(w *wall) { w.lists(w.these(`file:///./[rs]|ui:.*`)) },
	"resources/templates/list": func(w *wall) { w.lists(w.these(`.:///\{n\}`)) },
	"resources/read":           func(w *wall) { w.eachURI(`file:.*|ui:.*|.:///1`, false) },
	"resources/subscribe": func(w *wall) {
		if w.era == interop.Legacy {
			w.eachURI(`file:.*|ui:.*|.:///1`, true)
		}
	},
	"resources/unsubscribe": func(w *wall) {
		if w.era == interop.Legacy {
			w.eachURI(`file:.*|ui:.*|.:///1`, true)
		}
	},
	"completion/complete": func(w *wall) {
		w.each(`p|q`, func(server, own string) string {
			return `{"ref":{"type":"ref/prompt","name":"` + w.name(server, own) + `"},"argument":{"name":"n","value":""}}`
		})
		w.each(`.:///\{n\}`, func(_, own string) string {
			return `{"ref":{"type":"ref/resource","uri":"` + own + `"},"argument":{"name":"n","value":""}}`
		})
	},
	"skills/list":              func(w *wall) { w.lists(w.these(`skill:.*`)) },
	"skills/get":               func(w *wall) { w.eachURI(`skill:.*`, false) },
	"resources/directory/read": func(w *wall) { w.eachURI(`skill:.*`, false) },
	"tasks/get":                func(w *wall) { w.noTasks() },
	"tasks/update":             func(w *wall) { w.noTasks() },
	"tasks/cancel":             func(w *wall) { w.noTasks() },
	"tasks/result":             func(w *wall) { w.noTasks() },
	"server/discover": func(w *wall) {
		if w.era == interop.Modern {
			w.lists(w.these(`says`))
		}
	},
	"initialize": func(w *wall) {
		if w.era == interop.Legacy {
			w.lists(w.these(`says`))
		}
	},
}

// name returns the name of a tool or prompt in the view.
func (w *wall) name(server, own string) string {
	if w.single && server == "a" {
		return own
	}
	return server + "__" + own
}

// matching returns the parts in all with an own name that matches pattern.
func matching(all []string, pattern string) (out []string) {
	own := regexp.MustCompile(`^[a-c]\.(` + pattern + `)$`)
	for _, part := range all {
		if own.MatchString(part) {
			out = append(out, part)
		}
	}
	slices.Sort(out)
	return out
}

// these returns the matching parts of the view.
func (w *wall) these(pattern string) []string { return matching(w.want, pattern) }

// lists checks that a list, or a description, names exactly the parts want.
func (w *wall) lists(want []string) {
	w.Helper()
	if diff := cmp.Diff(want, marks(w.ask(w.method, `{}`))); diff != "" {
		w.Errorf("%s %s: %s", w.era, w.method, diff)
	}
}

// each requests all matching parts of all servers. Only the parts of the view may be found.
func (w *wall) each(pattern string, params func(server, own string) string) {
	w.Helper()
	for _, part := range matching(w.all, pattern) {
		server, own, _ := strings.Cut(part, ".")
		got := w.ask(w.method, params(server, own))
		if isWanted := slices.Contains(w.want, part); isWanted != slices.Contains(marks(got), part) || !isWanted && len(marks(got)) > 0 {
			w.Errorf("%s %s %s: %s", w.era, w.method, params(server, own), got)
		}
	}
}

// eachURI does the same with all URIs that may name a part.
func (w *wall) eachURI(pattern string, subscribes bool) {
	w.Helper()
	for _, part := range matching(w.all, pattern) {
		server, own, _ := strings.Cut(part, ".")
		owned := protocol.OwnedURI(server, own)
		uris := []string{own, owned}
		if w.single {
			uris = uris[:1]
			if subscribes && server != "a" {
				continue // the server itself would answer
			}
		}
		for _, uri := range uris {
			isWanted := slices.Contains(w.want, part)
			got := w.ask(w.method, `{"uri":"`+uri+`"}`)
			present := slices.Contains(marks(got), part)
			if subscribes { // the server has no updates, but it is asked
				present = !strings.Contains(got, "no resource") || isWanted && strings.HasSuffix(uri, "/u")
			}
			if uri == own && protocol.IsOwned(own) && !w.single { // it names no server of this view
				isWanted = false
			}
			if isWanted != present {
				w.Errorf("%s %s %s: %s", w.era, w.method, uri, got)
			}
			if !w.single && strings.HasPrefix(own, "file:") { // nor by a path through ..
				if got := w.ask(w.method, `{"uri":"`+strings.Replace(own, "/"+server+"/", "/"+server+"/../"+server+"/%2e%2e/", 1)+`"}`); len(w.want) < len(wholeServer("a")) && !strings.HasPrefix(got, "error: ") {
					w.Errorf("%s %s: a way round to %s: %s", w.era, w.method, uri, got)
				}
			}
		}
	}
}

// noTasks requests tasks that were made on the view of everything, and a task that is made on this view.
func (w *wall) noTasks() {
	w.Helper()
	for part, id := range w.tasks {
		if got := w.ask(w.method, `{"taskId":"`+id+`","inputResponses":{}}`); !strings.HasPrefix(got, "error: ") || len(marks(got)) > 0 {
			w.Errorf("%s %s: a task of %s that was made elsewhere: %s", w.era, w.method, part, got)
		}
	}
	if w.era != interop.Modern || w.exposed {
		return
	}
	for _, part := range matching(w.all, `x|y`) {
		server, own, _ := strings.Cut(part, ".")
		id, made := protocol.LookupString(json.RawMessage(w.ask("tools/call", `{"name":"`+w.name(server, own)+`","arguments":{"later":true}}`)), "taskId")
		if made != slices.Contains(w.want, part) {
			w.Errorf("a task of %s was made: %v", part, made)
		}
		if w.method == "tasks/result" || !made {
			continue
		}
		if got := w.ask(w.method, `{"taskId":"`+id+`","inputResponses":{}}`); !cmp.Equal(marks(got), []string{server + "." + server + "-" + own}) {
			w.Errorf("%s of a task that was made here: %s", w.method, got)
		}
	}
}
