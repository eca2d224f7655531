package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/arguments"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/schema/validate"
	"github.com/indusagi/indus/toolbox"
	"maragu.dev/gomponents"
	"maragu.dev/gomponents/html"
)

// trySection is the section at "/try".
var trySection = section{
	path: "try", title: "Try a tool", fields: "tool server q", data: readTry,
	actions: map[string]func(*visit) (string, error){"call": callTool},
}

const (
	// maxTools bounds the tools of a list. A filter finds the others.
	maxTools = 100
	// callWait is how long a call may take, unless the form has another time.
	callWait    = 60 * time.Second
	maxCallWait = 10 * time.Minute
)

// tryPage is the content of the section: a list of tools, or one tool with its form.
type tryPage struct {
	Servers []tryServer `json:"servers,omitzero"`
	Tools   []tryTool   `json:"tools,omitzero"`
	Total   int         `json:"total,omitempty"` // of the tools that match
	Server  string      `json:"server,omitempty"`
	Filter  string      `json:"filter,omitempty"`
	Tool    *tryForm    `json:"tool,omitempty"`
	Answer  *tryAnswer  `json:"answer,omitempty"`
	// Held is the tool that the query names, if it is held back and thus cannot be called.
	Held *changedRow `json:"held,omitempty"`
	name string      // of that tool
}

// tryServer is a server with the number of its tools.
type tryServer struct {
	Name  string `json:"name"`
	Tools int    `json:"tools"`
}

// tryTool is a tool in the list. Its texts come from its server.
type tryTool struct {
	Name    string `json:"name"`
	Server  string `json:"server"`
	Title   string `json:"title,omitempty"`
	Summary string `json:"summary,omitempty"`
	// Reads reports the claim of the server that the tool changes nothing.
	Reads bool `json:"readOnly"`
}

// tryForm is a tool with the form for its arguments.
type tryForm struct {
	tryTool
	About  string          `json:"description,omitempty"`
	Schema json.RawMessage `json:"inputSchema,omitempty"`
	// Arguments are the last ones, or those that the schema has by default.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Command is the same call as a command. It is "" if the arguments have a secret.
	Command string `json:"command,omitempty"`

	fields []tryField
	rest   int    // the number of arguments without a field
	typed  string // the arguments that were typed as JSON
	wait   string // in seconds
	wrong  []string
	misfit bool // the arguments do not fit the schema, and can be sent even so
}

// tryField is a field of the form as it is shown.
type tryField struct {
	arguments.Field
	id     string
	text   string
	wrong  string
	fields []tryField
}

// caller describes the page as the client of a visitor's calls.
func (v *visit) caller() *interop.Client {
	return &interop.Client{Name: "indus page", Address: addressOf(v.Request)}
}

// tools returns the tools that the visitor may call.
func (v *visit) tools() []toolbox.Descriptor {
	ctx := identity.NewContext(v.Context(), v.visitor.id)
	return v.site.Gateway.Tools(ctx, toolbox.Principal(v.visitor.principal()), v.caller()).Tools
}

// readTry returns the tools that the query selects: "tool", or "server" and "q".
func readTry(v *visit) (*content, error) {
	query := v.URL.Query()
	if name := query.Get("tool"); name != "" {
		p, err := tryOne(v, name)
		if errors.Is(err, errNotFound) {
			if held := v.heldTool(name); held != nil {
				p, err = &tryPage{Held: held, name: name, Server: held.Server}, nil
			}
		}
		return &content{p, func() gomponents.Node { return tryShown(p) }}, err
	}
	p := &tryPage{Servers: []tryServer{}, Tools: []tryTool{}, Server: query.Get("server"), Filter: query.Get("q")}
	all := v.tools()
	for server, tools := range show.GroupBy(all, func(d toolbox.Descriptor) string { return d.Server }) {
		if server != "" {
			p.Servers = append(p.Servers, tryServer{server, len(tools)})
		}
	}
	for i := range all {
		d := &all[i]
		if p.Server != "" && d.Server != p.Server {
			continue
		}
		one := newTryTool(d)
		if !matches(p.Filter, one.Name, one.Title, d.Description) {
			continue
		}
		p.Total++
		if len(p.Tools) < maxTools {
			p.Tools = append(p.Tools, one)
		}
	}
	return &content{p, func() gomponents.Node { return tryShown(p) }}, nil
}

// serverChoices returns the servers with the numbers of their tools.
func (p *tryPage) serverChoices() []choice {
	all := []choice{{"", "all"}}
	for _, s := range p.Servers {
		all = append(all, choice{s.Name, fmt.Sprintf("%s (%d)", show.Escaped(s.Name), s.Tools)})
	}
	return all
}

// tryOne returns the page of one tool.
func tryOne(v *visit, name string) (*tryPage, error) {
	all := v.tools()
	i := slices.IndexFunc(all, func(d toolbox.Descriptor) bool { return d.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no tool %q, or it is not for you: %w", name, errNotFound)
	}
	d := &all[i]
	f := &tryForm{
		tryTool: newTryTool(d), About: text.Clip(d.Description, maxShownText), Schema: d.Schema,
		wait: strconv.Itoa(int(callWait / time.Second)),
	}
	form := arguments.NewForm(d.Schema)
	f.rest = form.Rest
	number := 0
	f.fields = newTryFields(form.Fields, &number)
	byPath := map[string]*tryField{}
	eachField(f.fields, func(one *tryField) { byPath[one.Path] = one })
	f.Arguments, _ = form.Object(func(path string) string { return byPath[path].text })
	f.setCommand()
	return &tryPage{Server: d.Server, Tool: f}, nil
}

func newTryTool(d *toolbox.Descriptor) tryTool {
	t := tryTool{Name: d.Name, Server: d.Server, Title: d.Title, Summary: show.Summary(d.Description)}
	if a := d.Annotations; a != nil {
		t.Reads = a.ReadOnly
		return t
	}
	annotations, _ := wire.Lookup(d.Wire.JSON, "annotations")
	isTrue := func(name string) bool {
		value, _ := wire.Lookup(annotations, name)
		return string(value) == "true"
	}
	t.Reads = isTrue("readOnlyHint") && !isTrue("destructiveHint")
	title, _ := wire.Lookup(d.Wire.JSON, "title")
	t.Title, _ = wire.Unquote(title)
	t.Title = text.Clip(t.Title, 200)
	return t
}

// heldTool returns the tool with a name if it is held back, or nil.
func (v *visit) heldTool(name string) *changedRow {
	all, _, err := v.site.changedTools(v.Context())
	i := slices.IndexFunc(all, func(o describe.ChangedTool) bool { return o.Held && o.Name == name })
	if err != nil || i < 0 {
		return nil
	}
	row := v.changedRow(all[i])
	return &row
}

// newTryFields returns fields with their defaults, and numbers them for ids.
func newTryFields(all []arguments.Field, number *int) (out []tryField) {
	for _, f := range all {
		*number++
		one := tryField{Field: f, id: "arg-" + strconv.Itoa(*number)}
		if f.Required && visibleLines(f.Default) == f.Default {
			one.text = f.Default
		}
		one.fields = newTryFields(f.Fields, number)
		out = append(out, one)
	}
	return out
}

// eachField calls do for each field, groups before their fields.
func eachField(all []tryField, do func(*tryField)) {
	for i := range all {
		do(&all[i])
		eachField(all[i].fields, do)
	}
}

// describedBy returns the ids of the texts about a field.
func (f *tryField) describedBy() string {
	ids := f.id + "-about"
	if f.wrong != "" {
		ids += " " + f.id + "-wrong"
	}
	return ids
}

// label returns the name of a field for people.
func (f *tryField) label() string {
	if f.Title != "" && !strings.EqualFold(f.Title, f.Name) {
		return show.Escaped(f.Title) + " (" + show.Escaped(f.Name) + ")"
	}
	return show.Escaped(f.Name)
}

// hint returns the facts about a field in one line.
func (f *tryField) hint() string {
	words := []string{show.Escaped(f.Type)}
	if f.Required {
		words = append(words, "required")
	}
	switch f.Kind {
	case arguments.List:
		words = append(words, "one on each line")
	case arguments.DateTime:
		words = append(words, "in UTC")
	case arguments.JSON:
		words = append(words, "as JSON")
	}
	for _, limit := range []struct{ name, value string }{
		{"at least", f.Min}, {"at most", f.Max}, {"default", f.Default}, {"such as", f.Example},
	} {
		if limit.value != "" {
			words = append(words, limit.name+" "+show.Escaped(show.Cut(limit.value, 100)))
		}
	}
	return strings.Join(words, ", ")
}

// inputType returns the type of an input element for the field.
func (f *tryField) inputType() string {
	switch f.Kind {
	case arguments.DateTime:
		return "datetime-local"
	case arguments.Line:
		return "text"
	}
	return string(f.Kind)
}

// isLong reports whether the field has several lines.
func (f *tryField) isLong() bool {
	return f.Kind == arguments.Lines || f.Kind == arguments.List || f.Kind == arguments.JSON
}

// setCommand sets the command for the same call.
func (f *tryForm) setCommand() {
	f.Command = ""
	hidden := false
	eachField(f.fields, func(one *tryField) { hidden = hidden || one.Kind == arguments.Hidden && one.text != "" })
	if !hidden {
		var compact bytes.Buffer
		_ = json.Compact(&compact, f.Arguments) // it is valid
		f.Command = "indus mcp call " + show.ShellWord(f.Name) + " " + show.ShellWord(text.PlainJSON(compact.String()))
	}
}

// fieldPrefix begins the names of the form's fields. The path of the argument follows.
const fieldPrefix = "arg"

// read reads the arguments of a form that was sent: the field "args" as JSON, or the fields of the arguments.
func (f *tryForm) read(sent url.Values) error {
	if sent.Has("args") {
		f.typed = strings.ToValidUTF8(sent.Get("args"), "\uFFFD")
		var in arguments.Input
		if err := in.SetJSON([]byte(f.typed), "this text"); err != nil {
			f.wrong = []string{err.Error()}
			return err
		}
		object, err := in.Object(f.Schema)
		if err != nil {
			f.wrong = []string{err.Error()}
			return err
		}
		f.Arguments = object
		return nil
	}
	known := map[string]bool{}
	eachField(f.fields, func(one *tryField) {
		known[fieldPrefix+one.Path] = true
		one.text = sent.Get(fieldPrefix + one.Path)
	})
	for name := range sent {
		if strings.HasPrefix(name, fieldPrefix+"/") && !known[name] {
			return fmt.Errorf("the form has no field %q: write other arguments as JSON into %q", name, "args")
		}
	}
	form := arguments.NewForm(f.Schema)
	object, wrong := form.Object(func(path string) string { return sent.Get(fieldPrefix + path) })
	if len(wrong) == 0 {
		f.Arguments = object
		return nil
	}
	var all []error
	eachField(f.fields, func(one *tryField) {
		if err := wrong[one.Path]; err != nil {
			one.wrong = show.Clean(err.Error())
			all = append(all, fmt.Errorf("%s: %w", one.Path, err))
		}
	})
	return joined(all)
}

func joined(all []error) error {
	return errors.New(strings.Join(show.Names(all, error.Error), "; "))
}

// check validates the arguments by the schema of the tool. Arguments that cannot be checked are the server's matter.
func (f *tryForm) check() error {
	v, err := validate.New(f.Schema)
	if err != nil {
		return nil //nolint:nilerr // the server checks them
	}
	misfit, ok := errors.AsType[*validate.Error](v.Validate(f.Arguments))
	if !ok {
		return nil
	}
	f.misfit = true
	var all []error
	for _, fault := range misfit.Problems {
		all = append(all, errors.New(fault.String()))
		f.mark(fault)
	}
	return fmt.Errorf("the arguments do not fit: %w", joined(all))
}

// mark shows a problem beside its field, or above the form.
func (f *tryForm) mark(fault validate.Problem) {
	var nearest *tryField
	eachField(f.fields, func(one *tryField) {
		if one.Path == fault.Path || one.Kind != arguments.Group && strings.HasPrefix(fault.Path, one.Path+"/") {
			nearest = one
		}
	})
	if nearest == nil || f.typed != "" {
		f.wrong = append(f.wrong, show.Clean(fault.String()))
		return
	}
	nearest.wrong = strings.TrimPrefix(nearest.wrong+"; "+show.Clean(fault.String()), "; ")
}

// errCallTooLong is the cause of the end of a call that took too long.
var errCallTooLong = errors.New("the time is over")

// callTool calls a tool for the visitor.
func callTool(v *visit) (string, error) {
	name := v.PostForm.Get("tool")
	p, err := tryOne(v, name)
	if errors.Is(err, errNotFound) && v.heldTool(name) != nil {
		return "", fmt.Errorf("%s is held back: look at the changes, and accept or refuse it", name)
	} else if err != nil {
		return "", err
	}
	f := p.Tool
	v.answer = &content{p, func() gomponents.Node { return tryShown(p) }}
	wait := callWait
	if seconds, err := strconv.Atoi(v.PostForm.Get("wait")); err == nil && seconds > 0 {
		wait = min(time.Duration(seconds)*time.Second, maxCallWait)
	}
	f.wait = strconv.Itoa(int(wait / time.Second))
	v.reason = "the arguments are not valid" // an error may contain them
	if err := f.read(v.PostForm); err != nil {
		return "", err
	}
	f.setCommand()
	if v.PostForm.Get("force") == "" {
		if err := f.check(); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeoutCause(v.Context(), wait, errCallTooLong)
	defer cancel()
	v.reason = "the call failed: its own record has the reason"
	client, questions := v.caller(), &declined{}
	client.Capabilities, client.Back = json.RawMessage(`{"elicitation":{}}`), questions.answer
	began := time.Now()
	ctx = identity.NewContext(ctx, v.visitor.id)
	caller := toolbox.Principal(v.visitor.principal())
	raw, err := v.site.Gateway.Call(ctx, caller, client, f.Name, f.Arguments)
	took := time.Since(began)
	switch {
	case errors.Is(context.Cause(ctx), errCallTooLong):
		return "", fmt.Errorf("no answer within %s: the call is cancelled", show.Duration(wait))
	case err != nil:
		return "", err
	}
	p.Answer = newTryAnswer(raw, took)
	p.Answer.Notes = questions.notes()
	return "", nil
}

// declined declines the questions of servers during a call.
type declined struct {
	mu  sync.Mutex
	all []string
}

func (q *declined) answer(_ context.Context, m interop.Message) (json.RawMessage, error) {
	switch {
	case strings.HasPrefix(m.Method, "notifications/"):
		return nil, nil
	case m.Method != "elicitation/create":
		return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "the page has no " + m.Method}
	case m.Server == "": // indus itself asks for an approval, which the section "Approvals" has
		return json.RawMessage(`{"action":"cancel"}`), nil
	}
	message, _ := wire.Lookup(m.Params, "message")
	asked, _ := wire.Unquote(message)
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.all) < maxNotes {
		q.all = append(q.all, fmt.Sprintf("%s asked, and the page declined: %s", m.Server, text.Clip(asked, 500)))
	}
	return json.RawMessage(`{"action":"decline"}`), nil
}

const maxNotes = 20

func (q *declined) notes() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.all)
}

// attributes returns the attributes that all inputs have.
func (f *tryField) attributes() gomponents.Node {
	all := gomponents.Group{html.Name(fieldPrefix + f.Path), html.Aria("describedby", f.describedBy())}
	if f.wrong != "" {
		all = append(all, html.Aria("invalid", "true"))
	}
	if f.Required {
		all = append(all, html.Required())
	}
	for _, one := range [][2]string{{"min", f.Min}, {"max", f.Max}, {"step", f.Step}} {
		if one[1] != "" {
			all = append(all, gomponents.Attr(one[0], one[1]))
		}
	}
	return all
}

// asJSON returns the arguments for the field of JSON.
func (f *tryForm) asJSON() string {
	switch {
	case f.typed != "" && wire.Valid([]byte(f.typed)):
		return text.PlainJSON(f.typed)
	case f.typed != "":
		return f.typed
	case f.Command == "": // they have a secret
		return "{}"
	}
	return text.PlainJSON(indented(f.Arguments))
}

// schemaText returns the schema for people.
func (f *tryForm) schemaText() string {
	shown, _ := cutText(indented(f.Schema), maxShownText)
	return shown
}
