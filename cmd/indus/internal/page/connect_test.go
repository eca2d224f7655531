package page_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type connectJSON struct {
	Address, TokenVariable string
	Views                  []string
	Keys                   bool
	Clients                []struct {
		Client, Line, Link, Text, File string
	}
	Key *struct {
		Token, ID, Principal string
		Groups, Views        []string
		Expires              string
	}
	Error string
}

// connectConfig has two servers and a view.
func connectConfig() *mcpconfig.Config {
	row := func(id string, state mcpconfig.State) mcpconfig.Row {
		return mcpconfig.Row{Server: config.Server{ID: id}, State: state, File: "f.json", Line: 1}
	}
	return &mcpconfig.Config{
		Rows:  []mcpconfig.Row{row("git", mcpconfig.Active), row("off", mcpconfig.Disabled), row("@at", mcpconfig.Active)},
		Views: []mcpconfig.View{{Name: "dev"}},
	}
}

func TestTheWaysToConnect(t *testing.T) {
	d := newDesk(t, deskOptions{config: connectConfig()})
	var all connectJSON
	d.show("/connect", &all)
	if len(all.Clients) != len(mcpconfig.Clients()) || all.Address != d.web.URL+"/mcp" || all.Keys || all.TokenVariable != "" ||
		strings.Join(all.Views, " ") != "@dev git @@at" {
		t.Errorf("%+v", all)
	}
	var one connectJSON
	d.show("/connect?client=claude-code&view=git", &one)
	if want := "claude mcp add --transport http --scope user indus-git " + d.web.URL + "/mcp/git"; len(one.Clients) != 1 ||
		one.Clients[0].Line != want || !strings.Contains(one.Clients[0].Text, d.web.URL+"/mcp/git") {
		t.Errorf("%+v, want %s", one, want)
	}
	b := d.browse()
	text := b.open("/connect?client=cursor&view=%40dev")
	wants(t, text, `href="cursor://anysphere.cursor-deeplink/mcp/install?name=indus-dev`, d.web.URL+"/mcp/@dev",
		"indus connect cursor --view @dev --url "+d.web.URL+"/mcp", "~/.cursor/mcp.json")
	if strings.Contains(text, "Create a key") {
		t.Error("a key would open nothing here:", text)
	}
	if _, failed := d.act("/connect/key", "client", "cursor"); !strings.Contains(failed, "do not authenticate by keys") {
		t.Error(failed)
	}
	for _, path := range []string{"/connect?client=none", "/connect?view=none", "/connect?view=off", "/connect?view=../try"} {
		if status, _ := d.request(d.link(), path, nil); status != http.StatusNotFound {
			t.Error(path, status)
		}
	}
}

// Clients that sign in at an authorization server need no token from a variable.
func TestClientsWithAnIssuerNeedNoVariable(t *testing.T) {
	d := newDesk(t, deskOptions{keys: true, issuers: []string{"https://login.example.com"}, config: connectConfig()})
	var got connectJSON
	d.show("/connect?client=vscode", &got)
	if got.TokenVariable != "" || len(got.Clients) != 1 || strings.Contains(got.Clients[0].Text, "INDUS_TOKEN") {
		t.Errorf("%+v", got)
	}
}

func TestAKeyIsCreatedAndShownOnce(t *testing.T) {
	d := newDesk(t, deskOptions{keys: true, audit: true, config: connectConfig(), servers: map[string]*mcp.Server{"git": newEcho(oneTool()).Server}})
	var before connectJSON
	d.show("/connect?client=vscode", &before)
	if !before.Keys || before.TokenVariable != "INDUS_TOKEN" || !strings.Contains(before.Clients[0].Text, "INDUS_TOKEN") {
		t.Errorf("%+v", before)
	}
	b := d.browse()
	text := b.submit("/connect/key", "client", "claude-code", "principal", "alice", "groups", "dev  ops", "view", "git",
		"expires", "90d")
	list, err := d.keys.List()
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	key := list[0]
	if key.Name != "alice" || strings.Join(key.Groups, " ") != "dev ops" || len(key.Views) != 1 || key.Views[0] != "git" ||
		key.Expires.IsZero() {
		t.Errorf("%+v", key)
	}
	_, token, _ := strings.Cut(text, `<pre id="connect-token" tabindex="0">`)
	token, _, _ = strings.Cut(token, "<")
	if !strings.HasPrefix(token, "indus_"+key.ID) {
		t.Fatal("the key is not shown:", text)
	}
	wants(t, text, "It belongs to user:alice, in dev, ops, is valid for git, and expires at ", "Bearer "+token, "key rm "+key.ID)
	if text := b.open("/connect?client=claude-code"); strings.Contains(text, token) {
		t.Error("the key is shown again")
	}
	_, failed := d.act("/connect/key", "client", "claude-code", "expires", "soon")
	if !strings.Contains(failed, "is no duration") {
		t.Error(failed)
	}
	for _, bad := range [][]string{{"principal", "a b"}, {"groups", "a,b\x00"}, {"view", "none"}, {"client", "none"}} {
		if _, failed := d.act("/connect/key", bad...); failed == "" {
			t.Error(bad, "is accepted")
		}
	}
	status, answer := d.request(d.link(), "/connect/key", url.Values{"client": {"cursor"}})
	if status != http.StatusOK || !strings.Contains(string(answer), `"token": "indus_`) {
		t.Error(status, string(answer))
	}
	if list, err = d.keys.List(); err != nil || len(list) != 2 {
		t.Error(list, err)
	}
	targets := map[string]bool{}
	_, err = audit.Read(t.Context(), d.auditPath(), &audit.Filter{}, func(r *audit.Record) error {
		targets[r.Type+" "+r.Target] = true
		return nil
	})
	if err != nil || !targets["indus.page.connect.key "+key.ID] {
		t.Error(targets, err)
	}
}

// The key that the page creates opens the gateway, and the link of a client contains it.
func TestACreatedKeyOpensTheGateway(t *testing.T) {
	d := newDesk(t, deskOptions{keys: true, servers: map[string]*mcp.Server{"git": newEcho(oneTool()).Server}})
	var out connectJSON
	status, text := d.request(d.link(), "/connect/key", url.Values{"client": {"cursor"}, "principal": {"bob"}})
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err, string(text))
	}
	if status != http.StatusOK || out.Key == nil || out.TokenVariable != "" {
		t.Fatal(status, string(text))
	}
	if got := d.call(out.Key.Token, "git__merge", map[string]any{"text": "x"}); got != "echo x" {
		t.Error(got)
	}
	link, err := url.Parse(out.Clients[0].Link)
	if err != nil {
		t.Fatal(err)
	}
	config, err := base64.StdEncoding.DecodeString(link.Query().Get("config"))
	if err != nil || !strings.Contains(string(config), out.Key.Token) {
		t.Errorf("%s %v", config, err)
	}
}

// Administrators create keys for themselves. With a key of another principal, they could approve their own calls.
func TestRightsToCreateKeys(t *testing.T) {
	d := newDesk(t, deskOptions{keys: true, config: connectConfig()})
	admin, plain := d.key("alice", "admin", "dev"), d.key("bob")
	for _, bad := range [][]string{
		{"principal", "bob"}, {"principal", "new"}, {"principal", ""}, {"principal", "alice", "groups", "ops"},
		{"principal", "alice", "groups", "dev ops"},
	} {
		if _, failed := d.actAs(admin, "/connect/key", bad...); !strings.Contains(failed, "only for the own principal") {
			t.Error(bad, failed)
		}
	}
	status, text := d.request(admin, "/connect/key", url.Values{"principal": {"alice"}, "groups": {"dev"}})
	var out connectJSON
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err, string(text))
	}
	if status != http.StatusOK || out.Key == nil || out.Key.Principal != "user:alice" {
		t.Error(status, string(text))
	}
	if status, _ := d.request(plain, "/connect/key", url.Values{"principal": {"bob"}}); status != http.StatusForbidden {
		t.Error("a caller without the right creates a key:", status)
	}
	var shown connectJSON
	d.showTo(admin, "/connect", &shown)
	if list, err := d.keys.List(); err != nil || len(list) != 3 {
		t.Error(list, err)
	}
}

// A key that an administrator creates does not outlive the administrator's own key.
func TestACreatedKeyExpiresWithItsCreators(t *testing.T) {
	d := newDesk(t, deskOptions{keys: true, config: connectConfig()})
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	own, _, err := d.keys.Add(t.Context(), identity.Key{Name: "alice", Groups: []string{identity.AdminGroup}, Expires: until})
	if err != nil {
		t.Fatal(err)
	}
	for asked, isCut := range map[string]bool{"": true, "90d": true, "1m": false} {
		_, text := d.request(own, "/connect/key", url.Values{"principal": {"alice"}, "expires": {asked}})
		var out connectJSON
		if err := json.Unmarshal(text, &out); err != nil || out.Key == nil {
			t.Fatalf("%q: %s %v", asked, text, err)
		}
		expires, err := time.Parse(time.RFC3339, out.Key.Expires)
		if err != nil || expires.After(until) || expires.Equal(until) != isCut {
			t.Errorf("%q: %v, and the own key expires at %v: %v", asked, expires, until, err)
		}
	}
}

// Ids of the configuration are text, whatever they are.
func TestHostileNamesOfViews(t *testing.T) {
	config := connectConfig()
	config.Rows[0].Server.ID, config.Rows[2].Server.ID = evil, foreignMarkup
	d := newDesk(t, deskOptions{keys: true, config: config})
	b := d.browse()
	text := b.open("/connect")
	wants(t, text, "&lt;script&gt;")
	for _, c := range mcpconfig.Clients() {
		b.open("/connect?client=" + c.Name + "&view=" + url.QueryEscape(evil))
	}
	b.submit("/connect/key", "client", "cursor", "principal", foreignMarkup)
	b.submit("/connect/key", "client", "cursor", "view", foreignMarkup)
	b.submit("/connect/key", "client", "cursor", "view", evil)
}
