package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/connect"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/mcpconfig"
	"maragu.dev/gomponents"
)

// connectSection is the section at "/connect".
var connectSection = section{
	path: "connect", title: "Connect a client", fields: "client view",
	data: func(v *visit) (*content, error) {
		query := v.URL.Query()
		p, err := readConnect(v, query.Get("client"), query.Get("view"), "")
		return &content{p, func() gomponents.Node { return connectShown(p) }}, err
	},
	actions: map[string]func(*visit) (string, error){"key": createKey},
}

// connectPage is the content of the section: the clients, or one client.
type connectPage struct {
	Address string `json:"address"`
	// Views are the names of the views in paths, without that of all servers.
	Views  []string `json:"views"`
	View   string   `json:"view,omitempty"`
	Client string   `json:"client,omitempty"`
	// Keys reports that clients can use API keys. Clients with a token find it in the variable TokenVariable, unless a
	// key was created.
	Keys          bool          `json:"keys"`
	TokenVariable string        `json:"tokenVariable,omitempty"`
	Clients       []connect.Way `json:"clients"`
	Key           *createdKey   `json:"key,omitempty"`

	owner string // the only principal that the visitor may create keys for, "" if there is no such limit
}

// createdKey is a key that was just created. It is shown in no other answer.
type createdKey struct {
	Token     string    `json:"token"`
	ID        string    `json:"id"`
	Principal string    `json:"principal"`
	Groups    []string  `json:"groups,omitempty"`
	Views     []string  `json:"views,omitempty"`
	Expires   time.Time `json:"expires,omitzero"`
}

// readConnect returns the ways to connect a client, or all clients, to a view. token is put into them. If it is "", and
// clients need one, the ways name a variable.
func readConnect(v *visit, client, view, token string) (*connectPage, error) {
	s := v.site
	p := &connectPage{
		Address: s.mcpURL(), Views: viewNames(s.Config()), View: view, Client: client,
		Keys: s.acceptedKeys() != nil,
	}
	if view != "" && !slices.Contains(p.Views, view) {
		return nil, fmt.Errorf("there is no view %q: %w", view, errNotFound)
	}
	entry, err := connect.NewEntry(p.Address, view)
	if err != nil {
		return nil, err
	}
	entry.Bearer = token
	if token == "" && s.needsToken() {
		entry.Token = connect.TokenVariable
		p.TokenVariable = entry.Token
	}
	p.Clients = connect.Ways(entry)
	if client != "" {
		p.Clients = show.Where(p.Clients, func(w connect.Way) bool { return w.Client == client })
		if len(p.Clients) == 0 {
			return nil, fmt.Errorf("there is no client %q: %w", client, errNotFound)
		}
	}
	if id := v.visitor.id; id != nil {
		p.owner = string(id.Principal)
	}
	return p, nil
}

// viewNames returns the names of the views in paths: the servers, and the views of the configuration.
func viewNames(c *mcpconfig.Config) []string {
	names := []string{}
	for _, view := range c.Views {
		names = append(names, "@"+view.Name)
	}
	for _, row := range c.Rows {
		id := row.Server.ID
		if row.State != mcpconfig.Active || id == "" || show.Escaped(id) != id { // a person could not copy such an id
			continue
		}
		if strings.HasPrefix(id, "@") { // with one @, it would be a view
			id = "@" + id
		}
		names = append(names, id)
	}
	return names
}

// acceptedKeys returns the keys that clients authenticate by, or nil.
func (s *Site) acceptedKeys() *identity.Keys {
	if s.Guard() == nil {
		return nil
	}
	return s.Keys()
}

// needsToken reports whether clients must be given a token, because they cannot sign in themselves.
func (s *Site) needsToken() bool {
	guard := s.Guard()
	return guard != nil && !guard.NamesIssuers()
}

// errOwnKeys is returned to an administrator who may not create a key. Otherwise an administrator could act as several
// people, and approve the own calls.
var errOwnKeys = errors.New(`an administrator creates keys only for the own principal, and with groups of the own; ` +
	`the operator creates the others: "indus key add"`)

// createKey creates a key, and shows it with the client's ways. The form has the fields of "indus key add".
func createKey(v *visit) (string, error) {
	form := v.PostForm
	keys := v.site.acceptedKeys()
	if keys == nil {
		return "", errors.New("clients do not authenticate by keys here: a key would open nothing")
	}
	key := identity.Key{Name: strings.TrimSpace(form.Get("principal")), Groups: strings.Fields(form.Get("groups"))}
	if view := form.Get("view"); view != "" {
		if !slices.Contains(viewNames(v.site.Config()), view) {
			return "", fmt.Errorf("there is no view %q: %w", view, errNotFound)
		}
		key.Views = []string{view}
	}
	if text := strings.TrimSpace(form.Get("expires")); text != "" {
		lasts, ok := show.ParseDuration(text)
		if !ok || lasts == 0 {
			return "", fmt.Errorf("%q is no duration: write how long the key is good, such as 90d or 12h", text)
		}
		key.Expires = time.Now().Add(lasts).UTC().Truncate(time.Second)
	}
	id := v.visitor.id
	if err := mayCreate(id, &key); err != nil {
		return "", err
	}
	if id != nil && !id.Expires.IsZero() && (key.Expires.IsZero() || key.Expires.After(id.Expires)) {
		key.Expires = id.Expires // an administrator's key makes none that is good for longer
	}
	if _, err := readConnect(v, form.Get("client"), form.Get("view"), ""); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(v.Context(), actionWait)
	defer cancel()
	token, key, err := keys.Add(ctx, key)
	if err != nil {
		return "", err
	}
	form.Set("id", key.ID) // the target of the record in the audit
	p, err := readConnect(v, form.Get("client"), form.Get("view"), token)
	if err != nil {
		return "", err
	}
	p.Key = &createdKey{
		Token: token, ID: key.ID, Principal: string(key.Principal()), Groups: key.Groups, Views: key.Views,
		Expires: key.Expires,
	}
	v.answer = &content{p, func() gomponents.Node { return connectShown(p) }}
	return "created the key " + key.ID + ": it is shown only now", nil
}

// mayCreate returns an error if a visitor may not create a key. The operator may create every key.
func mayCreate(id *identity.Identity, key *identity.Key) error {
	if id == nil {
		return nil
	}
	isForeign := func(group string) bool { return !slices.Contains(id.Groups, group) }
	if key.Name == "" || key.Principal() != id.Principal || slices.ContainsFunc(key.Groups, isForeign) {
		return errOwnKeys
	}
	if id.Views != nil && (key.Views == nil || !slices.Contains(id.Views, key.Views[0])) {
		return errOwnKeys
	}
	return nil
}

// command returns the command that connects the client of the page.
func (p *connectPage) command() string {
	line := "indus connect " + cmp.Or(p.Client, "CLIENT")
	if len(p.Clients) == 1 && p.Clients[0].Text == "" { // a file without URLs
		return line
	}
	if p.View != "" {
		line += " --view " + show.ShellWord(p.View)
	}
	return line + " --url " + show.ShellWord(p.Address)
}

// ownerName returns the name that the form for a key begins with.
func (p *connectPage) ownerName() string {
	if p.owner == "" {
		return p.Client
	}
	name, _ := strings.CutPrefix(p.owner, "user:")
	return name
}

// about describes a key in a sentence.
func (k *createdKey) about() string {
	text := "It belongs to " + k.Principal
	if len(k.Groups) > 0 {
		text += ", in " + strings.Join(k.Groups, ", ")
	}
	if len(k.Views) > 0 {
		text += ", is valid for " + strings.Join(k.Views, ", ")
	}
	if k.Expires.IsZero() {
		return text + ", and does not expire"
	}
	return text + ", and expires at " + show.Time(k.Expires)
}

// viewChoices returns the views as choices. The choice of everything has the text all.
func (p *connectPage) viewChoices(all string) []choice {
	return choicesOf(append([]string{""}, p.Views...), all)
}

func clientChoices() []choice {
	all := []choice{{"", "all"}}
	for _, c := range mcpconfig.Clients() {
		all = append(all, choice{c.Name, c.Title})
	}
	return all
}

// waysOf names the ways of a client.
func waysOf(w *connect.Way) []string {
	var names []string
	for _, way := range []struct{ text, name string }{{w.Link, "link"}, {w.Line, "command line"}, {w.Text, "file"}} {
		if way.text != "" {
			names = append(names, way.name)
		}
	}
	if names == nil {
		return []string{"none"}
	}
	return names
}
