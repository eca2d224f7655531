package policy_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/internal/uris"
)

func TestCanonicalURI(t *testing.T) {
	for _, c := range []struct{ uri, want string }{
		{"file:///tmp/a.txt", "file:///tmp/a.txt"},
		{"FILE:///tmp/a.txt", "file:///tmp/a.txt"},
		{"file:///tmp/../etc/passwd", "file:///etc/passwd"},
		{"file:///tmp/%2e%2E/etc/passwd", "file:///etc/passwd"},
		{"file:///%65tc/passwd", "file:///etc/passwd"},
		{"file:///a%c3%a4", "file:///a%C3%A4"},
		{"file:///a/./b/..", "file:///a/"},
		{"file:///../../a", "file:///a"},
		{"https://Example.COM:443/x?Q=%41#F", "https://example.com/x?Q=A#F"},
		{"https://example.com.:8443/", "https://example.com:8443/"},
		{"https://user@EXAMPLE.com/", "https://user@example.com/"},
		{"http://[2001:DB8::0:1]:80/", "http://[2001:db8::1]/"},
		{"http://127.0.0.1/", "http://127.0.0.1/"},
		{"repo://indus/contents/a.go", "repo://indus/contents/a.go"},
		{"urn:x:Y", "urn:x:Y"},
		{"memo:", "memo:"},
		// These have no canonical form.
		{"", ""}, {"notes", ""}, {"/etc/passwd", ""}, {"file:///a b", ""}, {"file:///ä", ""}, {"file:///a\\b", ""},
		{"file:////etc/passwd", ""}, {"file:///a//b", ""}, {"file:///a%2fb", ""}, {"file:///a%5C..%5Cb", ""},
		{"file:///a%00", ""}, {"file:///a%0a", ""}, {"file:///a%", ""}, {"file:///a%4", ""}, {"file:///a%zz", ""},
		{"file:a/../b", ""}, {"http://0x7f.1/", ""}, {"http://2130706433/", ""}, {"http://127.1/", ""},
		{"http://0177.0.0.1/", ""}, {"http://ex%61mple.com/", ""}, {"http://[::ffff:127.0.0.1]/", ""},
		{"http://[fe80::1%25eth0]/", ""}, {"http://[::1/", ""}, {"http://a:99999/", ""}, {"http://a:b/", ""},
		{"repo://@h/a", ""}, {"repo://:@h/a", ""}, {"repo://u:@h/a", ""}, {"repo://u@v@h/a", ""}, {"repo://u;v@h/a", ""}, {"repo://u@", ""},
		{"repo://u:p@h/a", "repo://u:p@h/a"}, {"http://./", ""}, {"https://.", ""}, {"file:///c:x/../b", ""}, {"file:///u:p@h/%2E%2e/b", ""},
	} {
		got, err := uris.Canonical(c.uri)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q: %q, %v, want %q", c.uri, got, err, c.want)
		}
	}
}

// TestOtherSpellingsOfAURIAreRefused checks that no other spelling of a URI reaches a forbidden resource.
func TestOtherSpellingsOfAURIAreRefused(t *testing.T) {
	for _, text := range []string{
		`permit(principal, action, resource); forbid(principal, action == Action::"read", resource) when {
			resource.path like "/etc/*" };`,
		`permit(principal, action, resource); forbid(principal, action == Action::"read",
			resource == Resource::"fs/file:///etc/passwd");`,
		`permit(principal, action, resource); forbid(principal, action == Action::"read", resource) when {
			resource == Resource::"fs/file:///etc/passwd" };`,
	} {
		s := parse(t, text)
		for _, uri := range []string{"file:///etc/passwd", "FILE:///etc/passwd", "file:///tmp/../etc/passwd",
			"file:///%65tc/passwd", "file:////etc/passwd", "file:///tmp/%2e%2e/etc/passwd", "file:///tmp/..%2fetc/passwd",
			"file:///etc%2fpasswd", "file:///etc/./passwd", "file://LOCALHOST/etc/passwd",
			"file:///tmp/x?/../../etc/passwd", "file:///tmp/x#/../../etc/passwd", "file:///tmp/x#/%2e%2e/../etc/passwd"} {
			r := call("alice", "", "", "")
			r.Item = policy.Item{Kind: policy.Resource, Server: "fs", Name: uri}
			for _, action := range []policy.Action{policy.Read, policy.Subscribe, policy.Complete, policy.List} {
				r.Action = action
				if s.Decide(r).Allowed {
					t.Errorf("%s of %s is allowed by %s", action, uri, text)
				}
			}
			if s.MayList(r, []policy.Item{r.Item})[0] {
				t.Errorf("%s is listed by %s", uri, text)
			}
		}
		r := call("alice", "", "", "")
		r.Action, r.Item = policy.Read, policy.Item{Kind: policy.Resource, Server: "fs", Name: "file:///tmp/notes"}
		if got := s.Decide(r); !got.Allowed {
			t.Errorf("file:///tmp/notes is denied by %s: %+v", text, got)
		}
	}
}

// TestARuleForAPathIsForItsEncodings checks that a rule for a path is also for the spellings that some servers decode to
// it. Rules for other paths are not.
func TestARuleForAPathIsForItsEncodings(t *testing.T) {
	for rule, covered := range map[string]string{
		`forbid(principal, action, resource == Resource::"fs/file:///a@b(1)");`:                    "file:///a@b(1) file:///a%40b(1) file:///a%40b%281%29 file:///a@b%281)",
		`forbid(principal, action, resource is Resource) when { resource.path like "*@*" };`:       "file:///a@b(1) file:///a%40b(1) file:///a%40b%281%29 file:///a@b%281) x://h/a%40 x:a%40 https://h/a@?q=1 https://h/%40/b",
		`forbid(principal, action, resource is Resource) when { resource.path == "/a%3Bb" };`:      "file:///a%3Bb",
		`forbid(principal, action == Action::"list", resource == Resource::"fs/https://h/a;b=c");`: "https://h/a;b=c https://h/a%3Bb%3Dc https://u@h/a;b=c#x",
		`forbid(principal, action, resource == Resource::"fs/https://h/?a%40");`:                   "https://h/?a%40 https://u:p@h/?a%40#%40",
	} {
		s := parse(t, `permit(principal, action, resource); `+rule)
		for _, uri := range strings.Fields("file:///a@b(1) file:///a%40b(1) file:///a%40b%281%29 file:///a@b%281) x://h/a%40 " +
			"x:a%40 https://h/a@?q=1 https://h/%40/b file:///a%3Bb file:///a;b https://h/a;b=c https://h/a%3Bb%3Dc " +
			"https://h/a%20%C3%A4 https://h/?a%40 https://h/a%25 https://u@h/a;b=c#x https://u:p@h/?a%40#%40 x://u@h/a#x") {
			r := call("alice", "", "", "")
			r.Action, r.Item = policy.Read, policy.Item{Kind: policy.Resource, Server: "fs", Name: uri}
			want := !slices.Contains(strings.Fields(covered), uri)
			if got := s.Decide(r).Allowed; got != want {
				t.Errorf("%s: %s is allowed: %t", rule, uri, got)
			}
			if got := s.MayList(r, []policy.Item{r.Item})[0]; got != want {
				t.Errorf("%s: %s is listed: %t", rule, uri, got)
			}
		}
	}
}

func TestResourceAttributes(t *testing.T) {
	s := parse(t, `permit(principal, action == Action::"read", resource) when {
		resource.scheme == "https" && resource has host && resource.host == "docs.example.com" &&
		resource has port && resource.port == 8443 && resource.path like "/public/*" &&
		resource has query && resource.query == "v=1" && resource.server == Server::"web" };`)
	r := call("alice", "", "", "")
	r.Action = policy.Read
	r.Item = policy.Item{Kind: policy.Resource, Server: "web", Name: "https://docs.example.com:8443/public/a?v=1"}
	if got := s.Decide(r); !got.Allowed {
		t.Errorf("%+v", got)
	}
	// The URI of a template is not known yet.
	r.Item.Name, r.Item.Template = "https://docs.example.com:8443/public/{name}?v=1", true
	if !s.MayList(r, []policy.Item{r.Item})[0] {
		t.Error("the template is not listed")
	}
	r.Item.Server = "other"
	if s.MayList(r, []policy.Item{r.Item})[0] {
		t.Error("a template of another server is listed")
	}
}

// TestDeniedItemsAreDeniedByEveryAction checks that completion and subscription need what reading and fetching need.
func TestDeniedItemsAreDeniedByEveryAction(t *testing.T) {
	s := parse(t, `permit(principal, action in [Action::"complete", Action::"subscribe"], resource);
		permit(principal, action == Action::"get", resource == Prompt::"s/open") when { context.args.who == "x" };`)
	r := call("alice", "", "", "")
	for _, c := range []struct {
		action policy.Action
		item   policy.Item
		want   bool
	}{
		{policy.Subscribe, policy.Item{Kind: policy.Resource, Server: "s", Name: "note:1"}, false},
		{policy.Complete, policy.Item{Kind: policy.Resource, Server: "s", Name: "note:{id}", Template: true}, false},
		{policy.Complete, policy.Item{Kind: policy.Prompt, Server: "s", Name: "closed"}, false},
		{policy.Complete, policy.Item{Kind: policy.Prompt, Server: "s", Name: "open"}, true},
	} {
		r.Action, r.Item = c.action, c.item
		if got := s.Decide(r); got.Allowed != c.want {
			t.Errorf("%s of %s: allowed %v", c.action, c.item.Name, got.Allowed)
		}
	}
}

func TestUserIDIsInjective(t *testing.T) {
	for principal, want := range map[string]string{
		"": "local", "user:alice": "alice", "user:alice@example.com": "alice@example.com", "user:local": "user:local",
		"user:key:01": "user:key:01", "key:01": "key:01", "https://id.example.com#7": "https://id.example.com#7",
		"user:https://id.example.com#7": "user:https://id.example.com#7", "user:a#b": "user:a#b", "user:": "user:",
		"alice": "other:alice", "local": "other:local", "other:alice": "other:other:alice", "token:x": "token:x",
	} {
		if got := policy.UserID(principal); got != want {
			t.Errorf("UserID(%q) = %q, want %q", principal, got, want)
		}
	}
	parts := []string{"user:", "other:", "key:", "local", "alice", ":", "#", "a", ""}
	ids := map[string]string{}
	for range 100_000 {
		var b strings.Builder
		for range 1 + rand.IntN(4) {
			b.WriteString(parts[rand.IntN(len(parts))])
		}
		name := b.String()
		id := policy.UserID(name)
		if other, ok := ids[id]; ok && other != name {
			t.Fatalf("%q and %q have the id %q", name, other, id)
		}
		ids[id] = name
	}
}

// TestItemsHaveDifferentIDs checks that a tool with a slash in its name is no tool of another server.
func TestItemsHaveDifferentIDs(t *testing.T) {
	s := parse(t, `permit(principal, action, resource == Tool::"a%2Fb/c");`)
	if !s.Decide(call("alice", "a/b", "c", "")).Allowed {
		t.Error("the tool c of a/b is denied")
	}
	for _, server := range []string{"a", "a%2Fb"} {
		if s.Decide(call("alice", server, "b/c", "")).Allowed || s.Decide(call("alice", server, "c", "")).Allowed {
			t.Errorf("a tool of %s is allowed", server)
		}
	}
}

func TestListKeyHasTheMentionedAttributes(t *testing.T) {
	changes := map[string]func(r *policy.Request){
		"principal": func(r *policy.Request) { r.Principal.Name = "user:bob" },
		"group dev": func(r *policy.Request) { r.Principal.Groups = nil },
		"group x":   func(r *policy.Request) { r.Principal.Groups = []string{"dev", "x"} },
		"view":      func(r *policy.Request) { r.View = "" },
		"client":    func(r *policy.Request) { r.Client = "cursor" },
		"era":       func(r *policy.Request) { r.Era = "legacy" },
		"address":   func(r *policy.Request) { r.Address = "198.51.100.1" },
	}
	for _, c := range []struct {
		policy string
		want   string
	}{
		{`permit(principal, action, resource);`, ""},
		{`permit(principal == User::"alice", action, resource);`, "principal"},
		{`permit(principal, action, resource) when { principal.name like "a*" };`, "principal"},
		{`permit(principal in Group::"dev", action, resource);`, "group dev"},
		{`permit(principal, action, resource) when { principal in [Group::"dev", Group::"x"] };`, "group dev,group x"},
		{`permit(principal, action, resource) when { context.view == View::"@review" };`, "view"},
		{`permit(principal, action, resource) when { context.client.name == "x" };`, "client"},
		{`permit(principal, action, resource) when { context.era == "modern" };`, "era"},
		{`permit(principal, action, resource) when { context has address };`, "address"},
		{`permit(principal, action == Action::"call", resource) when { context.args.a == 1 };`, ""},
	} {
		s := parse(t, c.policy)
		before, ok := s.ListKey(call("alice", "", "", ""))
		if !ok {
			t.Errorf("%s: no key", c.policy)
		}
		for name, change := range changes {
			r := call("alice", "", "", "")
			change(r)
			after, _ := s.ListKey(r)
			if mentioned := strings.Contains(c.want, name); (after != before) != mentioned {
				t.Errorf("%s: a change of %s changes the key: %v, want %v", c.policy, name, after != before, mentioned)
			}
		}
	}
	s := parse(t, `permit(principal, action, resource) when { context.time < datetime("2027-01-01") };`)
	if _, ok := s.ListKey(call("alice", "", "", "")); ok {
		t.Error("a list that depends on the time has a key")
	}
}

func FuzzArguments(f *testing.F) {
	s, err := policy.Parse("policy.cedar", []byte(`
		permit(principal, action, resource);
		forbid(principal, action == Action::"call", resource) when { context.args has a && context.args.a == 1 };
		forbid(principal, action == Action::"call", resource) when { context.args == {"b": [[1], [2]]} };`))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{`{}`, `{"a": 1}`, `{"a": 1.0}`, `{"b": [[1], {"c": 2}]}`, `{"a": "\ud800"}`, `null`,
		`{"a": [null, 1e400, -0, 0.00001]}`, `{"a":1,"a":2}`, "{\"a\": \"\xff\"}", `{"\u0061": 1}`,
		strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, arguments []byte) {
		r := call("alice", "s", "t", "")
		r.Arguments = arguments
		verdict := s.Decide(r)
		var decoded map[string]any
		err := json.Unmarshal(arguments, &decoded)
		if len(arguments) > 0 && (err != nil || decoded == nil) && verdict.Allowed {
			t.Errorf("%q is allowed and no object", arguments)
		}
		if decoded["a"] == 1.0 && verdict.Allowed {
			t.Errorf("%q is allowed", arguments)
		}
		if verdict.Allowed && len(verdict.Problems) > 0 {
			t.Errorf("%q is allowed with the problems %q", arguments, verdict.Problems)
		}
	})
}

func FuzzCanonicalURI(f *testing.F) {
	for _, seed := range []string{"file:///a/../b", "HTTP://A:80/%41?x#y", "urn:a", "http://[::1]/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		canonical, err := uris.Canonical(text)
		if err != nil {
			return
		}
		if again, err := uris.Canonical(canonical); err != nil || again != canonical {
			t.Errorf("%q is canonical %q, and that is %q, %v", text, canonical, again, err)
		}
	})
}
