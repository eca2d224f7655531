package mcpconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/mcpconfig"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	c := readApprovals(t, `"cluster": {"nats": "nats://a:4222,tls://${SECRET}@b:4222", "credsFile": "x.creds", "name": "n",
		"tls": {"ca": "/ca.pem"}, "replicas": 3, "monitor": "http://a:8222", "lease": "3s"}`)
	got := c.Cluster
	if got == nil || got.Broken || len(c.Notes) > 0 {
		t.Fatalf("%+v %v", got, c.Notes)
	}
	want := mcpconfig.Cluster{
		NATS: "nats://a:4222,tls://" + webhookSecret + "@b:4222", CredsFile: filepath.Join(filepath.Dir(got.File), "x.creds"),
		CA: "/ca.pem", Name: "n", Replicas: 3, Monitor: "http://a:8222", Lease: 3 * time.Second,
		Setting: mcpconfig.Setting{File: got.File, Line: 1},
	}
	if *got != want {
		t.Errorf("it is %+v", *got)
	}
	for _, members := range []string{
		`"cluster": "nats://a"`, `"cluster": {}`, `"cluster": {"nats": "a:4222"}`, `"cluster": {"nats": "http://a"}`,
		`"cluster": {"nats": "nats://a,"}`, `"cluster": {"nats": "nats://a", "replica": 3}`,
		`"cluster": {"nats": "nats://a", "replicas": 0}`, `"cluster": {"nats": "nats://a", "replicas": 1.5}`,
		`"cluster": {"nats": "nats://a", "lease": "1s"}`, `"cluster": {"nats": "nats://a", "lease": 10}`,
		`"cluster": {"nats": "nats://a", "monitor": "nats://a"}`, `"cluster": {"nats": "nats://${MISSING}"}`,
		`"cluster": {"nats": "nats://a", "credsFile": ""}`, `"cluster": {"nats": "${cmd:echo nats://a}"}`,
		`"cluster": {"nats": "nats://a"}, "cluster": {"nats": "nats://b"}`,
	} {
		c := readApprovals(t, members)
		if c.Cluster == nil || !c.Cluster.Broken || !strings.Contains(c.Notes[0].String(), "cluster cannot be used: ") {
			t.Errorf("%s: %+v %v", members, c.Cluster, c.Notes)
		}
	}
}

// A cloned repository does not say where state is kept, not even if its servers are trusted.
func TestClusterOfAProject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, ".indusvx", "mcp.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"servers": {}, "cluster": {"nats": "nats://evil"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := mcpconfig.Read(t.Context(), nil, &mcpconfig.Options{Dir: dir, Home: t.TempDir(), Trust: true})
	if err != nil || c.Cluster != nil || len(c.Notes) != 1 || !strings.Contains(c.Notes[0].Reason, "not heeded") {
		t.Errorf("%+v %v %v", c.Cluster, c.Notes, err)
	}
	named, err := mcpconfig.Read(t.Context(), []string{file}, &mcpconfig.Options{Home: t.TempDir()})
	if err != nil || named.Cluster == nil || named.Cluster.Broken {
		t.Errorf("%+v %v", named.Cluster, err)
	}
}
