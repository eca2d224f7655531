package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
)

var updateServers = flag.Bool("update-servers", false, "write what the real servers answer to testdata/corpus/servers")

// TestStoredToolsAreTheServers checks that the files in testdata/corpus/servers match the replies of the servers, in
// the versions that testdata/peers and go.mod pin.
func TestStoredToolsAreTheServers(t *testing.T) {
	everything, everythingArgs := peers.Everything(t, "stdio")
	filesystem, filesystemArgs := peers.Filesystem(t, t.TempDir())
	for _, server := range []struct {
		file    string
		command fixture.Command
	}{
		{"everything.json", fixture.Command{Path: everything, Args: everythingArgs}},
		{"filesystem.json", fixture.Command{Path: filesystem, Args: filesystemArgs}},
		{"sdk-go.json", fixture.Command{Path: peers.SDKEverythingServer(t)}},
	} {
		t.Run(server.file, func(t *testing.T) {
			t.Parallel()
			now := indented(t, toolsOf(t, server.command))
			file := filepath.Join("testdata", "corpus", "servers", server.file)
			if *updateServers {
				if err := os.WriteFile(file, now, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(read(t, file)), string(now)); diff != "" {
				t.Errorf("run with -update-servers if that is right; -stored +now:\n%s", diff)
			}
		})
	}
}

// toolsOf requests the tools of a stdio server, as a client without capabilities.
func toolsOf(t *testing.T, command fixture.Command) json.RawMessage {
	t.Helper()
	p := fixture.Start(t, command)
	ask := func(id int, method, params string) json.RawMessage {
		fmt.Fprintf(p.Stdin, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		for {
			var answer struct {
				ID     int
				Result json.RawMessage
			}
			if err := json.Unmarshal([]byte(p.Line()), &answer); err != nil {
				t.Fatal(err)
			}
			if answer.ID == id && answer.Result != nil {
				return answer.Result
			}
		}
	}
	ask(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"schema-test","version":"1"}}`)
	fmt.Fprintln(p.Stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	var list struct {
		Tools      json.RawMessage
		NextCursor string
	}
	if err := json.Unmarshal(ask(2, "tools/list", "{}"), &list); err != nil {
		t.Fatal(err)
	}
	if list.NextCursor != "" {
		t.Fatal("the list has a second page")
	}
	return list.Tools
}

// indented returns JSON with indentation. The order of keys and the digits of numbers stay.
func indented(t *testing.T, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	return b.Bytes()
}
