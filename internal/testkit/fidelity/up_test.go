package fidelity

import (
	"bytes"
	"testing"
)

// TestArgumentsGoUpAsTheyAre checks the params that the server reports it received.
func TestArgumentsGoUpAsTheyAre(t *testing.T) {
	everyUpstream(t, func(r *rig) {
		r.eachCase(argumentCases(), func(t *testing.T, c *client, params string) {
			got := received(t, c.call("fx__echo_raw", params))
			if d := diff(canon([]byte(params)), canon(got)); d != "" {
				t.Error(d)
			}
			if name := lookup(compact(got), "name"); string(name) != `"echo_raw"` {
				t.Errorf("the tool is called %s", name)
			}
		})
	})
}

// received returns the params that the tool echo_raw has received.
func received(t *testing.T, r reply) []byte {
	t.Helper()
	content := parts(lookup(compact(r.result), "content"))
	if r.error != nil || len(content) != 1 {
		t.Fatalf("error %.300s, result %.300s", r.error, r.result)
	}
	return []byte(decoded(t, lookup(content[0], "text")))
}

// TestListsComeDownAsTheyAre checks that whole tools, except for their names, arrive unchanged.
func TestListsComeDownAsTheyAre(t *testing.T) {
	everyUpstream(t, func(r *rig) { listed(r.T, r, "fx__fidelity") })
}

// listed compares the list of each client with the list of the fixture. first is the name of the
// first tool.
func listed(t *testing.T, r *rig, first string) {
	want := parts(compact([]byte("[" + toolRows + "," + oddRows + "]")))
	r.each(t, func(t *testing.T, c *client) {
		result := compact(c.start("tools/list", "", `{"_meta":{"io.modelcontextprotocol/HOP":0,"a":1}}`).wait().result)
		checkHop(t, c, result)
		if c.modern != (lookup(result, "ttlMs") != nil) || c.modern != (lookup(result, "cacheScope") != nil) {
			t.Errorf("ttlMs %s, cacheScope %s", lookup(result, "ttlMs"), lookup(result, "cacheScope"))
		}
		rows := parts(lookup(result, "tools"))
		if len(rows) != len(want) {
			t.Fatalf("%d tools, want %d, in %.300s", len(rows), len(want), result)
		}
		for i := range rows {
			if d := diff(renamed(want[i]), renamed(rows[i])); d != "" {
				t.Errorf("tool %d: %s", i, d)
			}
		}
		if name := decoded(t, lookup(rows[0], "name")); name != first {
			t.Errorf("the first is called %s", name)
		}
	})
}

// renamed returns a tool with "x" in place of its name. The key keeps its spelling.
func renamed(tool []byte) string {
	name := lookup(tool, "name")
	for _, m := range parts(tool) {
		if key, _ := member(m); key == "name" {
			at := bytes.Index(tool, m)
			end := at + len(m)
			return string(tool[:end-len(name)]) + `"x"` + string(tool[end:])
		}
	}
	return string(tool)
}
