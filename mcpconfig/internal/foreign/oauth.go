package foreign

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// oauthKeys returns rules for the keys of a sign-in that have a counterpart in indus.
func oauthKeys() map[string]rule {
	return map[string]rule{
		"clientId": asOAuthText("clientId"), "client_id": asOAuthText("clientId"), "CLIENT_ID": asOAuthText("clientId"),
		"clientSecret": asOAuthText("clientSecret"), "client_secret": asOAuthText("clientSecret"),
		"CLIENT_SECRET": asOAuthText("clientSecret"),
		"issuer":        asOAuthText("issuer"), "scopes": asScopes, "scope": asScopes,
		"redirectUri": asRedirect, "redirectUrl": asRedirect, "redirect_uri": asRedirect,
		"callbackPort": asRedirectPort, "callback_port": asRedirectPort,
		"enabled": func(*serverRow, string, *hujson.Value) {},
	}
}

// asOAuth reads the sign-in of a client: an object, or false if there is none.
func asOAuth(m *serverRow, key string, v *hujson.Value) {
	switch v.Value.Kind() {
	case 'f':
		m.out["oauth"] = hujson.Value{StartOffset: v.StartOffset, Value: hujson.Bool(false)}
	case 't':
	case '{':
		if off := tree.At(v, "enabled"); tree.Has(off, 'f') { // Gemini CLI still signs in if the server requires it
			m.remark(off.StartOffset, fmt.Sprintf("%q is not taken over: indus signs in where the server wants it",
				key+".enabled"), `write "oauth": false to prevent it`)
		}
		m.applyRules(v, oauthKeys(), func(name string) string {
			return tree.Quote(key+"."+name) + " is not taken over: indus finds out from the server where and how to sign in"
		})
	default:
		m.remark(v.StartOffset,
			fmt.Sprintf("%q is %s where an object is expected, and is left out", key, tree.KindOf(v.Value)), "")
	}
}

// oauthMember adds a member to "oauth" once all keys are read, unless it is there already.
func (m *serverRow) oauthMember(name string, v hujson.Value) {
	m.deferred = append(m.deferred, func() {
		had := m.out["oauth"]
		if had.Value != nil && !tree.Has(&had, '{') {
			return // it is false
		}
		members := []hujson.ObjectMember{}
		for other, member := range tree.Members(&had) {
			if other == name {
				return
			}
			members = append(members, *member)
		}
		m.out["oauth"] = tree.Object(v.StartOffset, append(members, tree.Member(name, v)))
	})
}

// dropUnownedSecret leaves out a client secret without a client id. Such a secret belongs to a client that its program
// registers itself.
func (m *serverRow) dropUnownedSecret() {
	had := m.out["oauth"]
	secret := tree.At(&had, "clientSecret")
	if secret == nil || tree.At(&had, "clientId") != nil || m.name == Native {
		return
	}
	object, offset := had.Value.(*hujson.Object), secret.StartOffset
	object.Members = slices.DeleteFunc(object.Members, func(o hujson.ObjectMember) bool {
		return tree.Text(o.Name) == "clientSecret"
	})
	if len(object.Members) == 0 {
		delete(m.out, "oauth")
	}
	m.remark(offset, "the client secret is left out, because the row has no client id", "")
}

func asOAuthText(name string) rule {
	return func(m *serverRow, key string, v *hujson.Value) {
		s, ok := m.text(key, v)
		if !ok || s == "" {
			return
		}
		m.oauthMember(name, tree.String(v.StartOffset, s))
	}
}

// remarkRedirect adds a note about a client id that was registered by hand, if the row has no redirect address.
func (m *serverRow) remarkRedirect() {
	had := m.out["oauth"]
	id := tree.At(&had, "clientId")
	if id != nil && tree.At(&had, "redirectUri") == nil && m.place.Moving && m.name != Native {
		m.remark(id.StartOffset,
			"the client id may be known with the address alone at which "+m.title+" waits for the browser",
			`write that address as "redirectUri" of "oauth", such as http://localhost:PORT/callback`)
	}
}

// asScopes reads a list, or words in one string.
func asScopes(m *serverRow, key string, v *hujson.Value) {
	switch {
	case tree.Has(v, '"'):
		var words []hujson.Value
		for word := range strings.FieldsSeq(tree.Text(*v)) {
			words = append(words, tree.String(v.StartOffset, word))
		}
		if words != nil {
			m.oauthMember("scopes", tree.List(v.StartOffset, words))
		}
	case m.expect('[', "a list of scopes", key, v) && count(v) > 0:
		m.oauthMember("scopes", tree.List(v.StartOffset, m.nameList(key, v)))
	}
}

// asRedirectPort reads the port at which the client waits for the browser. Claude Code uses the name localhost with it.
func asRedirectPort(m *serverRow, key string, v *hujson.Value) {
	if l, ok := v.Value.(hujson.Literal); ok && l.Kind() == '0' {
		m.oauthMember("redirectUri", tree.String(v.StartOffset, "http://localhost:"+l.String()+"/callback"))
		return
	}
	m.remark(v.StartOffset, fmt.Sprintf("%q is no port, and is left out", key), "")
}

// asRedirect reads the address at which the client waits for the browser. It is taken over if indus can wait there too.
func asRedirect(m *serverRow, key string, v *hujson.Value) {
	s := tree.Text(*v)
	u, err := url.Parse(s)
	if err == nil && u.Scheme == "http" && u.RawQuery == "" && u.Fragment == "" &&
		slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()) {
		m.oauthMember("redirectUri", tree.String(v.StartOffset, s))
		return
	}
	m.remark(v.StartOffset, fmt.Sprintf("%q is not taken over: it is no http:// address of this machine, "+
		"at which indus could wait for the browser", key), "")
}

// mcporterAuth reads the sign-in of mcporter. "oauth" needs no rule, because indus signs in if the server requires it.
func mcporterAuth(m *serverRow, key string, v *hujson.Value) {
	if tree.Text(*v) != "oauth" {
		notImported(noOAuth)(m, key, v)
	}
}

// mcporterSecret reads the name of a variable.
func mcporterSecret(m *serverRow, key string, v *hujson.Value) {
	if name := tree.Text(*v); isName(name) {
		m.oauthMember("clientSecret", tree.String(v.StartOffset, "${"+name+"}"))
		return
	}
	m.fail(v.StartOffset, fmt.Sprintf("%q is no variable's name", key), "")
}
