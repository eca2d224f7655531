package policy

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/indusagi/indus/internal/uris"
)

// environment is a request as Cedar sees it. It is also the store of the entities of the request, which it makes when a
// condition needs them. Only one goroutine uses it.
type environment struct {
	request   cedar.Request
	groups    []string
	principal types.EntityUID
	resource  types.EntityUID
	item      *Item
	made      map[types.EntityUID]types.Entity
}

// Get returns an entity of the request.
func (e *environment) Get(uid types.EntityUID) (types.Entity, bool) {
	if entity, ok := e.made[uid]; ok {
		return entity, true
	}
	entity := types.Entity{UID: uid}
	switch {
	case uid == e.principal:
		entity.Attributes, entity.Parents = nameRecord(uid.ID), e.groupUIDs()
	case uid == e.resource:
		entity.Attributes = e.attributes()
		if server, ok := e.server(); ok {
			entity.Parents = types.NewEntityUIDSet(server)
		}
	case uid.Type == "View" || uid.Type == "Client" || uid.Type == "Server":
		entity.Attributes = nameRecord(uid.ID)
	default:
		return types.Entity{}, false
	}
	if e.made == nil {
		e.made = map[types.EntityUID]types.Entity{}
	}
	e.made[uid] = entity
	return entity, true
}

func (e *environment) groupUIDs() types.EntityUIDSet {
	groups := make([]types.EntityUID, len(e.groups))
	for i, g := range e.groups {
		groups[i] = types.EntityUID{Type: "Group", ID: types.String(g)}
	}
	return types.NewEntityUIDSet(groups...)
}

// server returns the server that the item belongs to.
func (e *environment) server() (types.EntityUID, bool) {
	uid := types.EntityUID{Type: "Server", ID: types.String(e.item.Server)}
	return uid, e.item.Kind != Server && e.item.Kind != View
}

func nameRecord(name types.String) types.Record {
	return types.NewRecord(types.RecordMap{"name": name})
}

// inID escapes the name of a server in the id of an item, so that different items have different ids.
var inID = strings.NewReplacer("%", "%25", "/", "%2F")

// itemUID returns the entity of an item.
func itemUID(item *Item) types.EntityUID {
	id := inID.Replace(item.Server) + "/" + item.Name
	switch item.Kind {
	case Server:
		id = item.Server
	case View:
		id = item.Name
	}
	return types.EntityUID{Type: types.EntityType(item.Kind), ID: types.String(id)}
}

func newEnvironment(r *Request, action Action) *environment {
	e := &environment{item: &r.Item, groups: r.Principal.Groups,
		principal: types.EntityUID{Type: "User", ID: types.String(UserID(r.Principal.Name))}, resource: itemUID(&r.Item)}
	e.request = cedar.Request{Principal: e.principal, Resource: e.resource,
		Action: types.EntityUID{Type: "Action", ID: types.String(action)}}
	return e
}

// with returns the environment of another item or action for the same caller.
func (e *environment) with(item *Item, action Action) *environment {
	other := &environment{request: e.request, groups: e.groups, principal: e.principal, item: item,
		resource: itemUID(item)}
	other.request.Resource = other.resource
	other.request.Action.ID = types.String(action)
	return other
}

// attributes returns the attributes of the item. A resource has none from a URI that is not in canonical form: such an
// item is refused before, if a rule mentions them.
func (e *environment) attributes() types.Record {
	switch e.item.Kind {
	case Server:
		return nameRecord(types.String(e.item.Server))
	case View:
		return nameRecord(types.String(e.item.Name))
	}
	server, _ := e.server()
	attributes := types.RecordMap{"server": server}
	switch e.item.Kind {
	case Resource:
		addURI(attributes, e.item)
	case Tool:
		attributes["claims"] = e.item.Claims.record()
		attributes["changed"] = types.Boolean(e.item.Changed)
		fallthrough
	default:
		attributes["name"] = types.String(e.item.Name)
	}
	return types.NewRecord(attributes)
}

// canonical returns an error if a URI is not in canonical form.
func canonical(text string) (uris.URI, error) {
	u, err := uris.Parse(text)
	if err != nil {
		return uris.URI{}, fmt.Errorf("the URI has no canonical form: %w", err)
	}
	if u.Text != text {
		return uris.URI{}, fmt.Errorf("the URI is not in canonical form: use %s", u.Text)
	}
	return u, nil
}

// unknownParts returns the attributes of the item that are unknown: the parts of the URI of a template. The beginning
// of a template is known if it has no variable before the path, as in https://host/{id}.
func (e *environment) unknownParts() []string {
	switch {
	case !e.item.Template:
		return nil
	case templateOrigin(e.item.Name) == "":
		return uriParts
	}
	return []string{"uri", "path", "query"}
}

// templateOrigin returns the beginning of a URI template up to the path, or "" if a variable stands before the path.
func templateOrigin(template string) string {
	literal, _, _ := strings.Cut(template, "{")
	scheme, rest, ok := strings.Cut(literal, "://")
	authority, _, hasPath := strings.Cut(rest, "/")
	origin := scheme + "://" + authority + "/"
	if _, err := canonical(origin); !ok || !hasPath || err != nil {
		return ""
	}
	return origin
}

func addURI(attributes types.RecordMap, item *Item) {
	text := item.Name
	if item.Template {
		text = templateOrigin(text)
	}
	u, err := canonical(text)
	if err != nil {
		return
	}
	attributes["uri"], attributes["scheme"] = types.String(u.Text), types.String(u.Scheme)
	attributes["path"] = types.String(u.Path)
	if u.HasHost {
		attributes["host"] = types.String(u.Host)
	}
	if u.HasPort {
		attributes["port"] = types.Long(u.Port)
	}
	if u.HasQuery {
		attributes["query"] = types.String(u.Query)
	}
}

func (c *Claims) record() types.Record {
	m := types.RecordMap{}
	for name, claim := range map[types.String]*bool{"readOnly": c.ReadOnly, "destructive": c.Destructive,
		"idempotent": c.Idempotent, "openWorld": c.OpenWorld} {
		if claim != nil {
			m[name] = types.Boolean(*claim)
		}
	}
	return types.NewRecord(m)
}

// contextOf returns the attributes of the context that the rules mention, and the arguments if they are not nil.
func contextOf(r *Request, mentioned map[string]bool, arguments *types.Record) types.Record {
	m := make(types.RecordMap, len(mentioned)+1)
	if mentioned["view"] {
		m["view"] = types.EntityUID{Type: "View", ID: types.String(r.View)}
	}
	if mentioned["client"] {
		m["client"] = types.EntityUID{Type: "Client", ID: types.String(r.Client)}
	}
	if mentioned["era"] {
		m["era"] = types.String(r.Era)
	}
	if mentioned["time"] {
		at := r.Time
		if at.IsZero() {
			at = time.Now()
		}
		m["time"] = types.NewDatetime(at)
	}
	if mentioned["address"] {
		if ip, ok := addressOf(r.Address); ok {
			m["address"] = types.IPAddr(netip.PrefixFrom(ip, ip.BitLen()))
		}
	}
	if arguments != nil {
		m["args"] = *arguments
	}
	return types.NewRecord(m)
}

// addressOf returns the IP address of a client. An IPv4 address in an IPv6 address is the IPv4 address.
func addressOf(text string) (netip.Addr, bool) {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	ip, err := netip.ParseAddr(text)
	return ip.Unmap().WithZone(""), err == nil
}

func addressText(text string) string {
	ip, ok := addressOf(text)
	if !ok {
		return ""
	}
	return ip.String()
}
