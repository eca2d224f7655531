package fidelity

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const plain = `{"_meta":{"io.modelcontextprotocol/HOP":0,"progressToken":"token"},"arguments":{}}`

func TestResultsComeDownAsTheyAre(t *testing.T) {
	everyUpstream(t, func(r *rig) {
		r.eachCase(resultCases(), func(t *testing.T, c *client, result string) {
			r.answers(result)
			got := c.call("fx__fidelity", plain)
			if got.error != nil {
				t.Fatalf("%.300s", got.error)
			}
			if d := diff(canon([]byte(result)), canon(got.result)); d != "" {
				t.Error(d)
			}
			checkHop(t, c, got.result)
		})
	})
}

// checkHop checks that the members of the hop fit the client's era.
func checkHop(t *testing.T, c *client, result []byte) {
	t.Helper()
	result = compact(result)
	typ, meta := lookup(result, "resultType"), lookup(result, "_meta")
	server := lookup(meta, "io.modelcontextprotocol/serverInfo")
	if c.modern {
		if string(typ) != `"complete"` || !strings.Contains(string(server), "indus-provider-host") {
			t.Errorf("resultType %s, serverInfo %s", typ, server)
		}
		return
	}
	if strings.Contains(string(meta), `"io.modelcontextprotocol/`) || typ != nil || lookup(result, "ttlMs") != nil ||
		lookup(result, "cacheScope") != nil {
		t.Errorf("a legacy client is told of the modern era: %.300s", result)
	}
}

// sayArguments returns arguments that make the fixture write only these lines.
func sayArguments(lines ...string) string {
	var flat []string
	for _, line := range lines {
		flat = append(flat, string(compact([]byte(line))))
	}
	b, err := json.Marshal(flat)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return `"arguments":{"silent":true,"lines":` + string(b) + `}`
}

func TestErrorsComeDownAsTheyAre(t *testing.T) {
	cases := map[string]string{
		"of no data":    `{"code":-5,"message":"no luck"}`,
		"of odd data":   `{"code":-5,"message":"no \u0041 luck ☃ <&>","data":{` + oddValues + `}}`,
		"of a string":   `{"data":"\u0041\/","code":1,"message":""}`,
		"of an array":   `{"data":[1.0,9007199254740993,null],"code":-32000,"message":"x"}`,
		"of a number":   `{"code":-32603,"data":1e400,"message":"x"}`,
		"of null":       `{"code":-5,"message":"x","data":null}`,
		"of a big code": `{"code":9007199254740993,"message":"x"}`,
	}
	everyUpstream(t, func(r *rig) {
		r.eachCase(cases, func(t *testing.T, c *client, text string) {
			got := c.call("fx__say",
				`{"_meta":{"io.modelcontextprotocol/HOP":0,"a":1},`+sayArguments(`{"jsonrpc":"2.0","id":$ID,"error":`+text+`}`)+`}`)
			if got.result != nil {
				t.Fatalf("a result: %.300s", got.result)
			}
			sent, came := compact([]byte(text)), compact(got.error)
			for _, key := range []string{"code", "data"} {
				if d := diff(string(lookup(sent, key)), string(lookup(came, key))); d != "" {
					t.Errorf("%s: %s", key, d)
				}
			}
			if want, got := decoded(t, lookup(sent, "message")), decoded(t, lookup(came, "message")); got != want {
				t.Errorf("message: %q, want %q", got, want)
			}
		})
	})
}

func decoded(t *testing.T, text []byte) (s string) {
	t.Helper()
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return s
}

// tokens returns progress tokens of clients, as they are written.
func tokens() []string {
	return []string{`"token"`, `"\u0041\/ ☃"`, `""`, `7`, `9007199254740993`, `-0`, `1.0`}
}

// TestReportsComeDownAsTheyAre checks that progress keeps its params, except for the token of the
// hop, and that the following result is unchanged.
func TestReportsComeDownAsTheyAre(t *testing.T) {
	reports := []string{
		`{"x":{` + oddValues + `},"progressToken":$TOKEN,"progress":1,"_meta":{"com.example/n":9007199254740993,` + oddValues + `}}`,
		`{"progress":9007199254740993,"total":1.0,"message":"\u0041\/ ☃","progressToken":$TOKEN}`,
		`{"progressToken":$TOKEN,"progress":"none","total":null,"message":{}}`,
		`{"progressToken":$TOKEN}`,
		`{"progressToken":$TOKEN,"progress":1e400}`,
	}
	var lines []string
	for _, p := range reports {
		lines = append(lines, `{"params":`+p+`,"method":"notifications/progress","jsonrpc":"2.0"}`)
	}
	lines = append(lines, `{"result":`+kitchenSink+`,"id":$ID,"jsonrpc":"2.0"}`)
	everyUpstream(t, func(r *rig) {
		r.each(r.T, func(t *testing.T, c *client) {
			for _, token := range tokens() {
				got := c.call("fx__say",
					`{"_meta":{"io.modelcontextprotocol/HOP":0,"progressToken":`+token+`},`+sayArguments(lines...)+`}`)
				if len(got.notes) != len(reports) {
					t.Fatalf("%d reports, want %d", len(got.notes), len(reports))
				}
				for i, params := range got.notes {
					if d := diff(canon([]byte(reports[i])), canon(params)); d != "" {
						t.Errorf("report %d: %s", i, d)
					}
					if own := lookup(compact(params), "progressToken"); string(own) != token {
						t.Errorf("report %d is for %s, and not %s", i, own, token)
					}
				}
				if d := diff(canon([]byte(kitchenSink)), canon(got.result)); d != "" {
					t.Errorf("the result: %s", d)
				}
			}
		})
	})
}

// TestProgressComesInOrder checks that all progress comes in order, before the result.
func TestProgressComesInOrder(t *testing.T) {
	const steps = 200
	everyUpstream(t, func(r *rig) {
		r.each(r.T, func(t *testing.T, c *client) {
			for _, token := range []string{`"mine"`, `42`} {
				got := c.call("fx__progress",
					fmt.Sprintf(`{"arguments":{"steps":%d},"_meta":{"io.modelcontextprotocol/HOP":0,"progressToken":%s}}`, steps,
						token))
				if len(got.notes) != steps || got.error != nil {
					t.Fatalf("%d reports, want %d; error %s", len(got.notes), steps, got.error)
				}
				for i, params := range got.notes {
					want := fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":%d,"message":"step %d"}`, token, i+1, steps, i+1)
					if string(params) != want {
						t.Fatalf("report %d is %s, want %s", i+1, params, want)
					}
				}
			}
			if got := c.call("fx__progress",
				`{"arguments":{"steps":3},"_meta":{"io.modelcontextprotocol/HOP":0,"a":1}}`); len(got.notes) > 0 {
				t.Errorf("nobody asked for progress, and there came %s", got.notes[0])
			}
		})
	})
}
