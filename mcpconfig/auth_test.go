package mcpconfig_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
)

// readAuth reads one named file with the given "auth".
func readAuth(t *testing.T, auth string) *mcpconfig.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(file, []byte(`{"servers": {}, "auth": `+auth+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := mcpconfig.Read(t.Context(), []string{file}, &mcpconfig.Options{Home: t.TempDir(), Env: lookup(map[string]string{"SECRET": "s3cret-of-indus"})})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAuth(t *testing.T) {
	t.Parallel()
	c := readAuth(t, `{
	  "methods": "jwt", "publicUrl": "https://mcp.example", "scopes": ["a", "b:{view}"],
	  "issuers": [{"issuer": "https://as.example", "jwksUri": "https://as.example/keys", "audience": "api://x", "algorithms": ["ES256"], "claim": "oid", "apps": true}],
	  "introspection": {"issuer": "https://as.example", "endpoint": "https://as.example/i", "clientId": "me", "clientSecret": "${SECRET}"},
	}`)
	want := &mcpconfig.Auth{
		Methods: []string{"jwt"}, URL: "https://mcp.example", Scopes: []string{"a", "b:{view}"}, Setting: mcpconfig.Setting{Line: 1},
		Issuers:       []mcpconfig.AuthServer{{Issuer: "https://as.example", Keys: "https://as.example/keys", Audience: []string{"api://x"}, Algorithms: []string{"ES256"}, Claim: "oid", Apps: true}},
		Introspection: &mcpconfig.AuthServer{Issuer: "https://as.example", Endpoint: "https://as.example/i", ClientID: "me", ClientSecret: config.NewSecret("s3cret-of-indus")},
	}
	if diff := cmp.Diff(want, c.Auth, cmpopts.IgnoreFields(mcpconfig.Auth{}, "Setting.File")); diff != "" || len(c.Notes) > 0 {
		t.Errorf("%s %v", diff, c.Notes)
	}
	if !c.Auth.Equal(readAuth(t, `{
	  "methods": ["jwt"], "scopes": ["a", "b:{view}"], "publicUrl": "https://mcp.example", "issuers": [{"claim": "oid", "apps": true, "issuer": "https://as.example",
	    "jwksUri": "https://as.example/keys", "audience": ["api://x"], "algorithms": "ES256"}],
	  "introspection": {"issuer": "https://as.example", "endpoint": "https://as.example/i", "clientId": "me", "clientSecret": "${SECRET}"}}`).Auth) {
		t.Error("they say the same")
	}
	if text := fmt.Sprintf("%v %+v %#v", c.Auth, *c.Auth.Introspection, *c.Auth.Introspection); strings.Contains(text, "s3cret") {
		t.Error(text)
	}
}

// An "auth" that cannot be read is not ignored: it admits no client.
func TestAuthThatIsBroken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`null`, `{"issuers": [{"issuer": "https://as.example", "apps": "yes"}]}`, `[]`, `"jwt"`, `{"method": "jwt"}`, `{"methods": ["jtw"]}`, `{"methods": 7}`, `{"methods": [""]}`, `{"methods": ["keys"], "methods": ["none"]}`,
		`{"issuers": {"issuer": "x"}}`, `{"issuers": [{}]}`, `{"issuers": [{"issuer": "x"}, {"issuer": "x", "audience": "y"}]}`, `{"issuers": ["https://as.example"]}`, `{"issuers": [{"issuer": "x", "endpoint": "y"}]}`,
		`{"introspection": []}`, `{"introspection": {"issuer": "x", "clientSecret": "${MISSING}"}}`, `{"introspection": {"issuer": "x", "clientSecret": "${cmd:pass}"}}`,
		`{"scopes": [1]}`, `{"publicUrl": ""}`,
	} {
		c := readAuth(t, text)
		if c.Auth == nil || !c.Auth.Broken || len(c.Notes) == 0 || !strings.Contains(c.Notes[0].String(), "auth cannot be used: ") {
			t.Errorf("%s: %+v %v", text, c.Auth, c.Notes)
		}
	}
}

// A cloned repository cannot decide which clients may connect. If two files of the user have an "auth", the file with
// the higher precedence counts.
func TestWhoseAuthCounts(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(dir, ".indusvx", "mcp.json"):            `{"servers": {}, "auth": {"issuers": [{"issuer": "https://evil.example"}]}}`,
		filepath.Join(home, ".config", "indusvx", "mcp.json"): `{"servers": {}, "auth": {"methods": ["keys"]}}`,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, trust := range []bool{false, true} { // trust in a file's servers is no permission to admit clients
		c, err := mcpconfig.Read(t.Context(), nil, &mcpconfig.Options{Dir: dir, Home: home, Env: lookup(nil), Trust: trust})
		if err != nil {
			t.Fatal(err)
		}
		if c.Auth == nil || len(c.Auth.Issuers) > 0 || len(c.Auth.Methods) != 1 || !strings.Contains(fmt.Sprint(c.Notes), "a project's file cannot decide which clients may connect") {
			t.Errorf("%+v %v", c.Auth, c.Notes)
		}
	}
	other := filepath.Join(home, "other.json")
	if err := os.WriteFile(other, []byte(`{"servers": {}, "auth": {"methods": ["none"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := mcpconfig.Read(t.Context(), []string{filepath.Join(home, ".config", "indusvx", "mcp.json"), other}, &mcpconfig.Options{Home: home, Env: lookup(nil)})
	if err != nil || c.Auth.Methods[0] != "none" || !strings.Contains(fmt.Sprint(c.Notes), "takes precedence") {
		t.Errorf("%+v %v %v", c.Auth, c.Notes, err)
	}
}

// If a file of the user cannot be read, or has two members "auth", its rules for clients are unknown.
func TestAuthThatNobodyKnows(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"servers": {}, "auth": {"methods": ["keys"]}`, `{"servers": {}, "auth": {"methods": ["keys"]}, "auth": {"methods": ["none"]}}`,
		`{"servers": {}, "auth": {"methods": ["keys"]}, "auth": null}`} {
		home := t.TempDir()
		file := filepath.Join(home, ".config", "indusvx", "mcp.json")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := mcpconfig.Read(t.Context(), nil, &mcpconfig.Options{Dir: home, Home: home, Env: lookup(nil)})
		if err != nil || c.Auth == nil || !c.Auth.Broken || c.Auth.File != file || c.Auth.Line != 1 || len(c.Notes) == 0 {
			t.Errorf("%s: %+v %v", text, c, err)
		}
	}
}

// The same holds if something other than a file is at the path of a user's file, but not at the path of a project's
// file.
func TestAuthWhereThereIsNoFile(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path string) error{
		"a directory":       func(path string) error { return os.MkdirAll(path, 0o700) },
		"a link to nothing": func(path string) error { return os.Symlink("nowhere", path) },
	} {
		for where, broken := range map[string]bool{".config/indusvx": true, ".indusvx/agent": true, ".indusvx": false} {
			home := t.TempDir()
			file := filepath.Join(home, where, "mcp.json")
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := put(file); err != nil {
				t.Skip(err)
			}
			c, err := mcpconfig.Read(t.Context(), nil, &mcpconfig.Options{Dir: home, Home: home, Env: lookup(nil)})
			if err != nil || (c.Auth != nil && c.Auth.Broken && c.Auth.File == file) != broken || len(c.Notes) != 1 {
				t.Errorf("%s in %s: %+v %v", name, where, c, err)
			}
		}
	}
}

// A member that looks like a member that protects requests stops indus serve: it counts as broken.
func TestMembersThatLookLikeProtection(t *testing.T) {
	t.Parallel()
	for member, names := range map[string]string{
		"audit":     "Audit AUDIT audti audits auditt auditLog audit_log audit-file audit.file auditing auditPath auditDir auditTrail",
		"policy":    "Policy polciy policies policys policyFile policy_file policyFiles policyDir policy.path policySet",
		"auth":      "Auth auht authn authz authentication authetication Authorization authorisation authorizaton",
		"approvals": "Approvals approval aprovals approvalls callApprovals approve approver approvers approvalFile",
		"":          "author logging accessLog other rules aud pol authors oauthAccount policyMode",
	} {
		for name := range strings.FieldsSeq(names) {
			c, err := readText(t, `{"servers": {}, "`+name+`": "report"}`)
			if err != nil {
				t.Fatal(err)
			}
			broken := ""
			switch {
			case c.Audit != nil && c.Audit.Broken:
				broken = "audit"
			case c.Policy != nil && c.Policy.Broken:
				broken = "policy"
			case c.Auth != nil && c.Auth.Broken:
				broken = "auth"
			case c.Approvals != nil && c.Approvals.Broken:
				broken = "approvals"
			}
			if broken != member && name != "policyMode" {
				t.Errorf("%s: %q is broken, want %q; %v", name, broken, member, c.Notes)
			}
		}
	}
}

// A misspelt "auth" must not admit every client.
func TestAuthThatIsMisspelt(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]bool{"Auth": true, "auht": true, "auths": true, "authentication": true, "author": false, "oauthAccount": false, "other": false} {
		file := filepath.Join(t.TempDir(), "servers.json")
		if err := os.WriteFile(file, []byte(`{"servers": {}, "`+name+`": {"methods": ["keys"]}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := mcpconfig.Read(t.Context(), []string{file}, &mcpconfig.Options{Home: t.TempDir()})
		if err != nil || (c.Auth != nil && c.Auth.Broken) != broken || broken && len(c.Notes) == 0 {
			t.Errorf("%s: %+v, %v, %v", name, c.Auth, c.Notes, err)
		}
	}
}
