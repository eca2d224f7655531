package session

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/chat"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

// Session exports session.
type Session struct{ *session }

// Fill answers the forms of sessions with a person.
var Fill = func(context.Context, chat.Form) ([]string, error) { return nil, chat.ErrDeclined }

// ContextOf returns the size of a conversation with a model.
func ContextOf(model string, flag int) int {
	f := &flags{context: flag}
	t := target{}
	t.service, t.id = splitModel(model)
	return f.contextOf(t)
}

// Open opens a session with flags.
func Open(
	ctx context.Context, args []string, s show.Streams, ask func(context.Context, agent.Ask) (agent.Verdict, error), hear func(agent.Event),
) (Session, error) {
	root := &cobra.Command{Use: "indus"}
	f := addFlags(root)
	if err := root.ParseFlags(args); err != nil {
		return Session{}, err
	}
	if err := f.check(root); err != nil {
		return Session{}, err
	}
	var p *person
	if ask != nil {
		p = &person{ask: ask, fill: Fill}
	}
	x, err := openSession(ctx, f, s, p, hear)
	return Session{x}, err
}

func (s Session) Prompt(ctx context.Context, text string) (agent.Answer, error) {
	return s.prompt(ctx, text)
}
func (s Session) Connect(ctx context.Context, server string) error { return s.connect(ctx, server) }
func (s Session) Disconnect(server string) error                   { return s.disconnect(server) }
func (s Session) UseModel(name string) error                       { return s.useModel(name) }
func (s Session) Close()                                           { s.close() }
func (s Session) Servers() *ledger.Attachment                      { return s.servers }
func (s Session) ID() string                                       { return s.id }

// PrivateReason returns the reason for which reads of files in a directory must ask.
func PrivateReason(dir string, homes, own []string) string { return privateReason(dir, homes, own) }

// OwnFiles returns the protected files of a directory, as tools see them.
func OwnFiles(files toolbox.FS, dir string) toolbox.FS {
	return protectedFS{FS: files, dir: dir, protected: ownDirectories()}
}

// Memory returns the permanent permissions in a project with servers.
func Memory(project string, servers ...config.Server) agent.Memory {
	return &memory{project: project, approved: approvedTools, server: func(id string) (config.Server, bool) {
		for _, s := range servers {
			if s.ID == id {
				return s, true
			}
		}
		return config.Server{}, false
	}}
}

// Target returns the model that the flags and then a name select.
func Target(model, baseURL, keyFile, name string) (provider, id, address, key string, err error) {
	f := &flags{model: model, baseURL: baseURL, keyFile: keyFile}
	t, err := f.target(name)
	return t.name, t.id, t.address, t.key.Reveal(), err
}

// Offer exports offer.
type Offer struct{ offer *offer }

// NewOffer returns an offer of two sources with a limit in tokens.
func NewOffer(local, servers toolbox.Source, limit int) Offer {
	return Offer{newOffer(local, servers, limit, schema.Universal)}
}

// Turn begins a turn, and returns the names of the tools that the model sees.
func (o Offer) Turn() (names []string) {
	for _, d := range o.offer.Descriptors() {
		names = append(names, d.Name)
	}
	return names
}

// Use adapts the tools to another provider.
func (o Offer) Use(p *schema.Profile) { o.offer.setProfile(p) }

// Box returns the tools that the model can call.
func (o Offer) Box() *toolbox.Box { return o.offer.box }

// ResourceText exports resourceText.
var ResourceText = resourceText

// Tools returns the tools as a turn uses them.
func (o Offer) Tools() agent.Toolbox { return o.offer }

// Field is a value of a form.
type Field struct {
	Prompt string
	Check  func(text string) error
	Value  func(text string) json.RawMessage
}

// FormFields returns the values of a form.
func FormFields(schema string) (fields []Field) {
	for _, p := range propertiesOf(json.RawMessage(schema)) {
		fields = append(fields, Field{p.prompt(), p.check, p.value})
	}
	return fields
}

// PromptArguments exports promptArguments.
var PromptArguments = promptArguments

// Receive answers a request of a server without a person.
func Receive(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	return (&session{person: &person{fill: Fill}}).receive(ctx, m)
}
