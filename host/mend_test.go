package host_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// readerScript requests the lists at the URLs on stdin from real clients. For each URL it prints how many tools each
// client got, or its error. The clients are the TypeScript SDK 1, the SDK 2 by default and in the modern era, and a
// strict UTF-8 reader like the Python and Rust SDKs.
const readerScript = `
import { Client as One } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HTTPOne } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as Two, StreamableHTTPClientTransport as HTTPTwo } from "@modelcontextprotocol/client";
import { readFileSync } from "node:fs";
console.error = console.warn = () => {};
const info = { name: "test", version: "1" };
const list = async (client, transport) => {
  await client.connect(transport);
  const n = (await client.listTools()).tools.length;
  await client.close();
  return n;
};
const whole = v => typeof v === "string" ? v.isWellFormed() :
  v === null || typeof v !== "object" || Object.entries(v).every(([k, v]) => k.isWellFormed() && whole(v));
const strict = async url => {
  const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
  const r = await fetch(url, { method: "POST", headers: { "content-type": "application/json", "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: meta } }) });
  const m = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(await r.arrayBuffer()));
  if (!whole(m)) throw new Error("a lone surrogate");
  return m.result.tools.length;
};
const all = {
  one: url => list(new One(info), new HTTPOne(new URL(url))),
  two: url => list(new Two(info), new HTTPTwo(new URL(url))),
  modern: url => list(new Two(info, { versionNegotiation: { mode: "auto" } }), new HTTPTwo(new URL(url))),
  strict,
};
const out = [];
for (const url of JSON.parse(readFileSync(0, "utf8"))) {
  const of = {};
  for (const [name, read] of Object.entries(all)) of[name] = await Promise.race([read(url), new Promise((_, no) => setTimeout(() => no(new Error("no answer within 60 s")), 60000))]).then(n => n + " tools", e => String(e.message).replace(/\s+/g, " ").slice(0, 200));
  out.push(of);
}
console.log(JSON.stringify(out));
process.exit(0);
`

// hostileRows are tools for which clients lose a whole list. The second column lists these clients.
var hostileRows = []struct{ row, client string }{
	{`"title":null`, "one two modern"},
	{`"description":null`, "one two modern"},
	{`"description":5`, "one two modern"},
	{`"annotations":null`, "one two modern"},
	{`"annotations":{"readOnlyHint":null,"title":"kept"}`, "one two modern"},
	{`"annotations":{"title":7}`, "one two modern"},
	{`"icons":null`, "one two modern"},
	{`"icons":[{"mimeType":"image/png"}]`, "one two modern"},
	{`"icons":[{"src":"data:,","sizes":"48x48"}]`, "one two modern"},
	{`"icons":[{"src":"data:,","sizes":[48]}]`, "one two modern"},
	{`"icons":[{"src":"data:,","theme":"sepia"}]`, "one two modern"},
	{`"icons":[null]`, "one two modern"},
	{`"_meta":null`, "one two modern"},
	{`"execution":null`, "one two"},
	{`"execution":{"taskSupport":"sometimes"}`, "one two"},
	{`"inputSchema":{"type":"object","properties":null}`, "one two"},
	{`"inputSchema":{"type":"object","required":null}`, "one two"},
	{`"inputSchema":{"type":"object","required":[1,"a"]}`, "one two"},
	{`"inputSchema":{"type":"object","properties":{"a":true,"b":false,"c":{}}}`, "one"},
	{`"inputSchema":{"type":"object","properties":{"a":null,"b":"x"}}`, "one"},
	{`"inputSchema":{"type":"object","$schema":null}`, "modern"},
	{`"outputSchema":null`, "one two modern"},
	{`"outputSchema":true`, "one two modern"},
	{`"outputSchema":{"type":"array"}`, "one two"},
	{`"outputSchema":{"type":"array","$schema":1}`, "one two modern"},
	{`"outputSchema":{"anyOf":[{"type":"object"}]}`, "one two"},
	{`"outputSchema":{"type":"object","properties":{"a":true}}`, "one"},
	{`"outputSchema":{"type":"object","required":[null]}`, "one two"},
	{`"outputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}`, "one"},
	{`"outputSchema":{"type":"object","properties":{"a":{"$ref":"https://example.com/b.json"}}}`, "one"},
	{`"outputSchema":{"type":"object","properties":{"a":{"pattern":"(?i)x"}}}`, "one"},
	{`"outputSchema":{"type":"object","properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, "one"},
	{`"outputSchema":{"type":"object","properties":{"a":{"type":"any"}}}`, "one"},
	{`"outputSchema":{"type":"object","properties":{"a":{"enum":[]}}}`, "one"},
	{`"outputSchema":{"type":"object","$defs":{"a":{"id":"A","type":"string"}},"properties":{"a":{"$ref":"#/$defs/a"}}}`, "one"},
	{`"outputSchema":{"type":"object","properties":{"a":{"nullable":true}}}`, "one"},
	{`"outputSchema":{"type":"object","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"properties":{"a":{"$ref":"#/$defs/a"}}}`, "one"},
	{`"outputSchema":{"type":"object","$id":"2020-01-01T00:00:00Z"}`, "one"},
	{`"outputSchema":{"type":"object","title":{"$id":""}}`, "one"},
	{`"inputSchema":{"type":"object","properties":{"a":{"default":1e999}}}`, "two"},
	{`"description":"half a character: \ud83d"`, "strict"},
}

// TestOneToolLeavesTheListToItsClients lets real clients read 28 good tools and a hostile one. The list is first mended
// and then exact. With the exact list, the clients in the table lose all tools.
func TestOneToolLeavesTheListToItsClients(t *testing.T) {
	t.Parallel()
	var urls []string
	for _, h := range hostileRows {
		for _, exact := range []bool{false, true} {
			urls = append(urls, hostileSite(t, exact, h.row))
		}
	}
	in, err := json.Marshal(urls)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(peers.Node(t), "--input-type=module", "-e", readerScript)
	cmd.Dir = filepath.Join("..", "testdata", "peers") // where node searches for packages
	cmd.Stdin = strings.NewReader(string(in))
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	var read []map[string]string
	if err == nil {
		err = json.Unmarshal(out, &read)
	}
	if err != nil || len(read) != len(urls) {
		t.Fatalf("%v: %s%s", err, out, errs.String())
	}
	for i, h := range hostileRows {
		for client, got := range read[2*i] {
			if got != "29 tools" {
				t.Errorf("%s: %s gets: %s", h.row, client, got)
			}
		}
		var lost []string
		for _, client := range []string{"one", "two", "modern", "strict"} {
			if read[2*i+1][client] != "29 tools" {
				lost = append(lost, client)
			}
		}
		if got := strings.Join(lost, " "); got != h.client {
			t.Errorf("%s as it is: lost by %q, the table says %q: %v", h.row, got, h.client, read[2*i+1])
		}
	}
}

// TestOtherClientsReadTheMendedList requests all of them at once with mcporter and the Inspector.
func TestOtherClientsReadTheMendedList(t *testing.T) {
	t.Parallel()
	var rows []string
	for _, h := range hostileRows {
		rows = append(rows, h.row)
	}
	url := hostileSite(t, false, rows...)
	for name, ask := range map[string]func() (string, error){
		"mcporter": func() (string, error) {
			return peers.MCPorter(t, t.TempDir(), t.TempDir(), nil, "list", url, "--allow-http", "--json")
		},
		"the Inspector, legacy": func() (string, error) {
			return peers.Inspector(t, url, "--transport", "http", "--protocol-era", "legacy", "--quiet", "--method",
				"tools/list")
		},
		"the Inspector, modern": func() (string, error) {
			return peers.Inspector(t, url, "--transport", "http", "--protocol-era", "modern", "--quiet", "--method",
				"tools/list")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := ask()
			if n := strings.Count(out, `"name": "s__`); err != nil || n != 28+len(rows) {
				t.Errorf("%d tools, %v: %s", n, err, out)
			}
		})
	}
}

// hostileSite returns the URL of a host in front of a server with 28 good tools and a tool for each row.
func hostileSite(t *testing.T, exact bool, hostile ...string) string {
	t.Helper()
	var rows []string
	for i := range 28 {
		rows = append(rows, fmt.Sprintf(`{"name":"good%d","title":"Good","description":"does good","annotations":{"readOnlyHint":true},"_meta":{"a":null},
			"inputSchema":{"type":"object","properties":{"a":{"type":["string","null"],"default":null}},"required":["a"]},
			"outputSchema":{"type":"object","properties":{"b":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string","pattern":"^(?!x)\\p{L}+[\\w.-]$"}}}}`, i))
	}
	for i, row := range hostile {
		if !strings.Contains(row, `"inputSchema"`) {
			row += `,"inputSchema":{"type":"object"}`
		}
		rows = append(rows, fmt.Sprintf(`{"name":"hostile%d",%s}`, i, row))
	}
	f := fixture.New(t, "-list-file", fixture.File(t, "["+strings.Join(rows, ",")+"]"))
	m := interop.Mount(t.Context(), []config.Server{{ID: "s", Transport: config.Stdio{Command: f.Path, Args: f.Args}}},
		nil)
	t.Cleanup(m.Close)
	var found []string
	for _, q := range m.Fleet.Quarantined() {
		found = append(found, q.Tool)
		if !q.Mended || !strings.HasPrefix(q.Tool, "hostile") || q.Reason == "" {
			t.Errorf("%+v", q)
		}
	}
	if slices.Sort(found); len(slices.Compact(found)) != len(hostile) {
		t.Errorf("found %v of %v", found, hostile)
	}
	return newSite(t, m.Box, &host.Options{Exact: exact}).URL
}
