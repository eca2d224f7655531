package broker_test

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/box/broker"
)

// TestProgramsByName runs real programs that know neither the broker nor a proxy: each gets a permitted name over HTTPS,
// and fails at another one.
func TestProgramsByName(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	if out, err := exec.Command("sh", "-c", `cd "$1" && git init -q --bare repo.git && cd repo.git &&
		git -c user.name=a -c user.email=a@example.com commit-tree -m a $(git write-tree) >refs/heads/main &&
		git update-server-info && cd .. && mkdir work; chmod 777 work; chmod -R a+rX .`, "sh", dir).CombinedOutput(); err != nil {
		t.Skipf("git: %v %s", err, out)
	}
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			files.ServeHTTP(w, r)
			return
		}
		fmt.Fprint(w, "hello ", r.Host)
	}))
	t.Cleanup(server.Close)
	cert := filepath.Join(dir, "cert.pem")
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(cert, b, 0o644); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	good, bad := "https://www.example.com:"+port+"/", "https://other.example.com:"+port+"/"
	hello := "hello www.example.com:" + port
	for _, c := range []struct {
		name, path string
		args       []string // the URL follows
		suffix     string
		good, bad  string
	}{
		{"curl", "/usr/bin/curl", []string{"-sS", "--max-time", "10"}, "", hello, "Could not resolve host"},
		{"python", "/usr/bin/python3", []string{"-c", urllib}, "", hello, "Name or service not known"},
		{"node fetch", "/usr/bin/node", []string{"-e", `fetch(process.argv[1]).then(async r => console.log(await r.text()), ` +
			`e => console.log(e.cause?.code))`}, "", hello, "ENOTFOUND"},
		{"node https", "/usr/bin/node", []string{"-e", `require("https").get(process.argv[1], r => r.pipe(process.stdout))` +
			`.on("error", e => console.log(e.code))`}, "", hello, "ENOTFOUND"},
		{"git", "/usr/bin/git", []string{"ls-remote"}, "repo.git", "refs/heads/main", "Could not resolve host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := namedRig(t, "www.example.com", port)
			for url, want := range map[string]string{good: c.good, bad: c.bad} {
				cmd := exec.Command(program(t, c.path), append(c.args, url+c.suffix)...)
				cmd.Dir = filepath.Join(dir, "work")
				cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + cmd.Dir, "RES_OPTIONS=use-vc", "CURL_CA_BUNDLE=" + cert,
					"SSL_CERT_FILE=" + cert, "GIT_SSL_CAINFO=" + cert, "NODE_EXTRA_CA_CERTS=" + cert}
				if got := r.run(cmd); !strings.Contains(got, want) {
					t.Errorf("%s: got %s", url, got)
				}
			}
			if got := fmt.Sprint(r.denied()); got != "[host other.example.com]" {
				t.Errorf("denied %s", got)
			}
		})
	}
}

// TestPackageLauncher starts a small package with an empty cache. It needs the configured registry.
func TestPackageLauncher(t *testing.T) {
	t.Parallel()
	if os.Getenv("INDUS_BROKER_REGISTRY") == "" {
		t.Skip("INDUS_BROKER_REGISTRY is not set: no packages are loaded")
	}
	out, err := exec.Command("npm", "config", "get", "registry").Output()
	if err != nil {
		t.Skip(err)
	}
	registry, err := url.Parse(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{net.JoinHostPort(registry.Hostname(), "443")}
	addresses, err := net.LookupHost(registry.Hostname())
	if err != nil {
		t.Skip(err)
	}
	for _, a := range addresses { // a mirror may have an address that is not public
		hosts = append(hosts, net.JoinHostPort(a, "443"))
	}
	dir := openDir(t)
	r := newRig(t, broker.Rules{Hosts: hosts})
	cmd := exec.Command(program(t, "/usr/bin/npx"), "-y", "semver", "1.2.3")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "RES_OPTIONS=use-vc", "npm_config_registry=" + registry.String(),
		"npm_config_update_notifier=false"}
	if ca, err := exec.Command("npm", "config", "get", "cafile").Output(); err == nil {
		if file := strings.TrimSpace(string(ca)); file != "null" {
			cmd.Env = append(cmd.Env, "npm_config_cafile="+file, "NODE_EXTRA_CA_CERTS="+file)
		}
	}
	if out := r.run(cmd); !strings.Contains(out, "1.2.3\n") {
		t.Errorf("got %s; denied %q", out, r.denied())
	}
}
