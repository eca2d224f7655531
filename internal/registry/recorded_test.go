package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/registry"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/schema/validate"
)

// TestRecordedEntriesBecomeRows makes rows of real entries (see testdata/README.md), and reads each row as a
// configuration.
func TestRecordedEntriesBecomeRows(t *testing.T) {
	entries := recorded(t)
	rows, servers := 0, map[string]bool{}
	for _, e := range entries {
		made, reasons := false, []string(nil)
		for _, o := range e.Offers() {
			row, err := complete(o, "server")
			if err != nil {
				reasons = append(reasons, err.Error())
				continue
			}
			made = true
			checkRow(t, e.Name, row)
		}
		if made {
			rows++
			servers[e.Name] = true
			continue
		}
		t.Logf("%s: %s", e.Name, strings.Join(reasons, "; "))
	}
	t.Logf("%d of %d entries become rows, of %d servers", rows, len(entries), len(servers))
	if rows < 239 || len(servers) < 120 {
		t.Errorf("only %d entries of %d servers become rows", rows, len(servers))
	}
}

// complete returns a row, with a value for each input that is missing.
func complete(o registry.Offer, id string) (json.RawMessage, error) {
	values := map[string]string{}
	for {
		row, err := o.Row(id, values)
		missing := (*registry.MissingError)(nil)
		if !errors.As(err, &missing) {
			return row, err
		}
		for _, n := range missing.Inputs {
			values[n.Name] = "value"
			if len(n.Choices) > 0 {
				values[n.Name] = n.Choices[0]
			}
		}
	}
}

// checkRow checks that a configuration with the row has one server and no note but of unset variables.
func checkRow(t *testing.T, name string, row json.RawMessage) {
	t.Helper()
	file := t.TempDir() + "/mcp.json"
	if err := os.WriteFile(file, []byte(`{"servers":{"server":`+string(row)+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := mcpconfig.Read(t.Context(), []string{file}, &mcpconfig.Options{
		Dry: true, Home: "/home/me", XDG: "/home/me/.config", State: t.TempDir(),
		Env: func(string) (string, bool) { return "set", true },
	})
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, row)
	}
	if len(c.Servers()) != 1 || len(c.Notes) > 0 {
		t.Errorf("%s: %v\n%s", name, c.Notes, row)
	}
}

// recorded returns the recorded entries, through a client.
func recorded(t *testing.T) []*registry.Entry {
	t.Helper()
	answer, err := os.ReadFile("testdata/servers.json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Servers []json.RawMessage `json:"servers"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		t.Fatal(err)
	}
	page := 0
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		end := min(page+100, len(list.Servers))
		body := map[string]any{"servers": list.Servers[page:end]}
		if page = end; page < len(list.Servers) {
			body["metadata"] = map[string]any{"nextCursor": "from-" + r.URL.Query().Get("cursor") + "x"}
		}
		_ = json.NewEncoder(w).Encode(body)
	})
	found, err := c.Search(context.Background(), registry.Query{Limit: 1000})
	if err != nil || found.Invalid > 0 {
		t.Fatal(err, found.Invalid)
	}
	return found.Entries
}

// client returns a client for a registry that h serves.
func client(t *testing.T, h http.HandlerFunc) *registry.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := registry.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRecordedAnswerFollowsTheDescription checks that the recorded answer is one of the API's OpenAPI description.
func TestRecordedAnswerFollowsTheDescription(t *testing.T) {
	description, err := os.ReadFile("testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := validate.New(description)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := os.ReadFile("testdata/servers.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Validate(answer); err != nil {
		t.Error(err)
	}
}

// TestSearchFindsWhatIsMeant searches a registry that, like the official one, looks for a substring of the whole name, and
// where almost every name begins with io.github.
func TestSearchFindsWhatIsMeant(t *testing.T) {
	names := []string{
		"io.github.github/github-mcp-server", "com.example/github", "io.github.zed/tools-github",
		"ai.alibaba/adb-mysql-mcp-server", "io.github.ann/mysql",
	}
	for i := range 400 {
		names = append(names, fmt.Sprintf("io.github.user%03d/server", i))
	}
	slices.Sort(names)
	requests := 0
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		q := r.URL.Query()
		limit, _ := strconv.Atoi(q.Get("limit"))
		var page []any
		next := ""
		for _, name := range names {
			if !strings.Contains(name, q.Get("search")) || name <= q.Get("cursor") {
				continue
			}
			if len(page) == limit {
				next = page[limit-1].(map[string]any)["server"].(map[string]any)["name"].(string)
				break
			}
			page = append(page, map[string]any{"server": map[string]any{"name": name, "version": "1", "description": "of alibaba"}})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"servers": page, "metadata": map[string]any{"nextCursor": next}})
	})
	for _, test := range []struct {
		words []string
		want  string
	}{
		{[]string{"github"}, "com.example/github io.github.github/github-mcp-server io.github.zed/tools-github"},
		{[]string{"GitHub", "server"}, "io.github.github/github-mcp-server"},
		{[]string{"mysql"}, "io.github.ann/mysql ai.alibaba/adb-mysql-mcp-server"},
		{[]string{"mysql", "alibaba"}, "ai.alibaba/adb-mysql-mcp-server"},
		{[]string{"io"}, ""},
	} {
		requests = 0
		found, err := c.Search(t.Context(), registry.Query{Words: test.words, Limit: 20})
		if err != nil || requests > 10 {
			t.Errorf("%v: %v, %d requests", test.words, err, requests)
		}
		var got []string
		for _, e := range found.Entries {
			got = append(got, e.Name)
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%v: -want +got:\n%s", test.words, diff)
		}
	}
	// A cursor goes on where the search ended, and no entry comes twice.
	seen, cursor := map[string]bool{}, ""
	for range 100 {
		found, err := c.Search(t.Context(), registry.Query{Words: []string{"server"}, Limit: 30, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found.Entries {
			if seen[e.Name] {
				t.Errorf("%s comes twice", e.Name)
			}
			seen[e.Name] = true
		}
		if cursor = found.Cursor; cursor == "" {
			break
		}
	}
	if len(seen) != 402 {
		t.Errorf("%d of 402 entries", len(seen))
	}
	if _, err := c.Search(t.Context(), registry.Query{Cursor: "9~x"}); err == nil || !strings.Contains(err.Error(), "is no cursor") {
		t.Error(err)
	}
}
