package methods_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// A URI in the form that names its server can be split into the server and the original URI, whatever both are.
func FuzzOwnedURI(f *testing.F) {
	for _, uri := range []string{"ui://form.html", "skill://x/y/SKILL.md", "file:///a?b#c", "indus://b/x", "", "ui://", "ui:///", "é\x00/"} {
		f.Add("server", uri)
		f.Add("a/b é%2f", uri)
	}
	f.Fuzz(func(t *testing.T, server, uri string) {
		owned := protocol.OwnedURI(server, uri)
		at, own, ok := protocol.SplitURI(owned, func(s string) bool { return s == server })
		if !ok || at != server || own != uri {
			t.Fatalf("%q of %q is %q, and that %q of %q", uri, server, owned, own, at)
		}
		if _, _, ok := protocol.SplitURI(owned, func(string) bool { return false }); ok {
			t.Fatalf("%q is of a server that is not there", owned)
		}
		if _, twice, ok := protocol.SplitURI(protocol.OwnedURI("x", owned), func(s string) bool { return s == "x" }); !ok || twice != owned {
			t.Fatalf("%q does not come through a gateway behind another: %q", owned, twice)
		}
	})
}

// A URI that is rewritten for a client and back is the original, for any server's answer. This holds for all rows of
// the table, and no other byte changes.
func FuzzTable(f *testing.F) {
	for _, raw := range []string{
		`{"content":[{"type":"resource_link","uri":"ui://a"},{"type":"resource","resource":{"uri":"ui:\/\/b","text":"ui://c"}}, {"uri":7}] }`,
		`{"messages":[{"content":{"uri":"skill://x"}},{"content":[{"resource":{"uri":"file:///x"}}]}]}`,
		`{"contents":[{"uri":"ui://a"},{"uri":"ui://a","uri":"ui://b"}],"_meta":{"ui":{"resourceUri":"ui://p"},"ui/resourceUri":"ui://q"}}`,
		`{"skill":{"uri":"skill://x/SKILL.md","resources":[{"uri":"skill://x/SKILL.md"}]},"resources":"dynamic"}`,
		`{"resources":[{"uri":"\u0075i://é"}],"result":{"content":[{"uri":"ui://t"}]}}`, `[]`, `"ui://x"`, `{"uri":{"uri":"ui://x"}}`,
	} {
		f.Add([]byte(raw))
	}
	var paths [][]string
	for _, row := range methods.Rows() {
		paths = append(paths, row.URIs...)
	}
	paths = append(paths, methods.AppLinks()...)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !wire.Valid(raw) {
			return
		}
		given := bytes.Clone(raw)
		for _, path := range paths {
			out := wire.EditStrings(raw, path, func(uri string) string {
				if protocol.IsOwned(uri) {
					return protocol.OwnedURI("s", uri)
				}
				return uri
			})
			if !wire.Valid(out) {
				t.Fatalf("%v: %s of %s", path, out, raw)
			}
			back := wire.EditStrings(out, path, func(uri string) string {
				if _, own, ok := protocol.SplitURI(uri, func(s string) bool { return s == "s" }); ok && protocol.IsOwned(uri) {
					return own
				}
				return uri
			})
			same := bytes.Equal(out, raw)
			var a, b any
			if json.Unmarshal(raw, &a) != nil || json.Unmarshal(back, &b) != nil {
				return // only package wire can read it
			}
			if !same && !reflect.DeepEqual(a, b) {
				t.Fatalf("%v: %s came back as %s", path, raw, back)
			}
		}
		if !bytes.Equal(raw, given) {
			t.Fatal("the server's own bytes were changed")
		}
	})
}
