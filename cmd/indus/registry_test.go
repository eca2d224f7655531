package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/indusagi/indus/schema/validate"
	"github.com/rogpeppe/go-internal/testscript"
)

// registryEntry is an element of a registry's answer.
type registryEntry struct {
	name, version string
	raw           json.RawMessage
}

// startRegistry serves the API of a registry (/v0.1/servers) from a file of the script, which is read at each request.
func startRegistry(ts *testscript.TestScript, sc *scene, args []string) {
	file := ts.MkAbs(args[1])
	peers, _, _ := strings.Cut(ts.Getenv("EVERYTHING"), "/node_modules/")
	ts.Setenv("PEERS", peers)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entries, err := readEntries(file, peers)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		serveEntries(w, r, entries)
	}))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

// serveEntries answers a request to a registry that has these entries.
func serveEntries(w http.ResponseWriter, r *http.Request, entries []registryEntry) {
	path, _ := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), "/v0.1/servers"))
	if path == "" {
		listEntries(w, r, entries)
		return
	}
	name, version, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/versions/")
	for i := len(entries) - 1; i >= 0; i-- { // the last one is the newest
		if e := entries[i]; e.name == name && (version == "latest" || version == e.version) {
			_, _ = w.Write(e.raw)
			return
		}
	}
	http.NotFound(w, r)
}

// readEntries reads a file of entries. VERSION-OF-NAME stands for the version of an npm package among the peers.
func readEntries(file, peers string) (all []registryEntry, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	packages, err := os.ReadFile(filepath.Join(peers, "package.json"))
	if err != nil {
		return nil, err
	}
	var installed struct{ Dependencies map[string]string }
	if err := json.Unmarshal(packages, &installed); err != nil {
		return nil, err
	}
	for name, version := range installed.Dependencies {
		text = bytes.ReplaceAll(text, []byte(`"VERSION-OF-`+name+`"`), []byte(`"`+version+`"`))
	}
	var list struct{ Servers []json.RawMessage }
	err = json.Unmarshal(text, &list)
	for _, raw := range list.Servers {
		var e struct {
			Server struct{ Name, Version string }
		}
		_ = json.Unmarshal(raw, &e)
		all = append(all, registryEntry{e.Server.Name, e.Server.Version, raw})
	}
	return all, err
}

// listEntries writes a page of the newest versions. A cursor is the index of its first entry.
func listEntries(w http.ResponseWriter, r *http.Request, entries []registryEntry) {
	query := r.URL.Query()
	var matching []json.RawMessage
	for i, e := range entries {
		newest := true
		for _, later := range entries[i+1:] {
			newest = newest && later.name != e.name
		}
		if newest && strings.Contains(e.name, query.Get("search")) {
			matching = append(matching, e.raw)
		}
	}
	from, _ := strconv.Atoi(query.Get("cursor"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	end := min(from+limit, len(matching))
	answer := map[string]any{"servers": matching[min(from, end):end]}
	if end < len(matching) {
		answer["metadata"] = map[string]any{"nextCursor": strconv.Itoa(end)}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// fetched gets a document without credentials. It checks a list of servers against the API's OpenAPI description.
func fetched(ts *testscript.TestScript, _ *scene, args []string) {
	response, err := timedClient.Get(args[0])
	ts.Check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), body, 0o600))
	if strconv.Itoa(response.StatusCode) != args[1] {
		ts.Fatalf("HTTP %d, want %s: %s", response.StatusCode, args[1], body)
	}
	if !strings.HasSuffix(args[0], "/v0.1/servers") || args[1] != "200" {
		return
	}
	description, err := os.ReadFile("../../internal/registry/testdata/openapi.json")
	ts.Check(err)
	v, err := validate.New(description)
	ts.Check(err)
	ts.Check(v.Validate(body))
}
