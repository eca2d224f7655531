package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// signInServer is an MCP server that requires tokens of an authorization server. It records all secrets between that
// server and its clients.
type signInServer struct {
	as  *authserver.Server
	url string // of the MCP server

	mu      sync.Mutex
	secrets []string
	ran     []string                                       // nonces of calls
	last    string                                         // the last repeated Authorization
	refuses func(grant string, w http.ResponseWriter) bool // answers instead of the authorization server, if it is not nil
}

// newGuarded starts both servers. Requests to the authorization server pass a proxy, which records the secrets.
func newGuarded(t testing.TB, o authserver.Options) *signInServer {
	g := &signInServer{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			to, _ := url.Parse(g.as.URL)
			r.SetURL(to)
			r.Out.Host = r.In.Host
			if r.In.Method == http.MethodPost {
				body, _ := io.ReadAll(r.Out.Body)
				r.Out.Body = io.NopCloser(bytes.NewReader(body))
				form, _ := url.ParseQuery(string(body))
				g.note(form.Get, "code", "code_verifier", "refresh_token", "client_secret", "token", "subject_token", "assertion")
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if to, err := r.Location(); err == nil {
				g.note(to.Query().Get, "code")
			}
			if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
				return nil
			}
			body, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			var said map[string]any
			_ = json.Unmarshal(body, &said)
			g.note(func(name string) string { text, _ := said[name].(string); return text },
				"access_token", "refresh_token", "id_token", "client_secret", "registration_access_token")
			return err
		},
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		g.mu.Lock()
		refuses := g.refuses
		g.mu.Unlock()
		if refuses != nil && refuses(form.Get("grant_type"), w) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	o.Issuer = front.URL
	g.as = authserver.Start(t, &o)
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	g.url = web.URL + "/mcp"
	metadata := web.URL + "/.well-known/oauth-protected-resource/mcp"
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"resource": g.url, "authorization_servers": []string{front.URL}, "scopes_supported": []string{"read"},
		})
	})
	check := auth.RequireBearerToken(g.verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: metadata})
	mux.Handle("/mcp", check(mcp.NewStreamableHTTPHandler(g.server, nil)))
	return g
}

// server returns the MCP server for a user.
func (g *signInServer) server(r *http.Request) *mcp.Server {
	user, mine := auth.TokenInfoFromContext(r.Context()).UserID, r.Header.Get("Authorization")
	server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1", Title: mine},
		&mcp.ServerOptions{Instructions: mine})
	mcp.AddTool(server, &mcp.Tool{Name: "repeat", Description: mine}, g.repeat)
	mcp.AddTool(server, &mcp.Tool{Name: "whoami"}, func(_ context.Context, r *mcp.CallToolRequest, in struct {
		Nonce string `json:"nonce,omitempty"`
	}) (*mcp.CallToolResult, any, error) {
		g.mu.Lock()
		g.ran = append(g.ran, in.Nonce)
		g.mu.Unlock()
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Extra.TokenInfo.UserID}}}, nil, nil
	})
	server.AddResource(&mcp.Resource{URI: "diary:" + user, Name: user},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "diary:" + user, Text: user}}}, nil
		})
	return server
}

// repeat is a tool that returns the Authorization of its call and of the previous call.
func (g *signInServer) repeat(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	mine := r.Extra.Header.Get("Authorization")
	g.mu.Lock()
	all := mine + " " + g.last
	g.last = mine
	g.mu.Unlock()
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "repeated " +
		all}}}, map[string]string{all: all}, nil
}

func (g *signInServer) note(get func(string) string, names ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range names {
		if secret := get(name); len(secret) > 8 && !slices.Contains(g.secrets, secret) {
			g.secrets = append(g.secrets, secret)
		}
	}
}

func (g *signInServer) known() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.secrets)
}

// verify checks a token at the authorization server (RFC 7662).
func (g *signInServer) verify(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	form := url.Values{"token": {token}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.as.URL+"/token/introspection", strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(authserver.Machine().ID, authserver.Machine().Secret)
	res, err := timedClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var c struct {
		Active   bool `json:"active"`
		Sub, Aud string
		Exp      int64
	}
	if err := json.NewDecoder(res.Body).Decode(&c); err != nil {
		return nil, err
	}
	if !c.Active || c.Aud != g.url {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: c.Sub, Expiration: time.Unix(c.Exp, 0)}, nil
}

// browser is the program that $BROWSER names in scripts. It acts as a user who signs in as $BROWSER_USER, or refuses.
func browser() {
	b := authserver.Browser{User: os.Getenv("BROWSER_USER"), Refuse: os.Getenv("BROWSER_USER") == "nobody"}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if len(os.Args) > 2 { // browser --visit URL prints the final address
		back, err := b.Visit(ctx, os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(back)
		return
	}
	_ = os.WriteFile(browserGiven, []byte(environmentOf("self")), 0o600)
	if err := b.Open(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// startGuarded implements "guarded VAR". VAR is the URL of an MCP server that requires a sign-in.
func startGuarded(ts *testscript.TestScript, sc *scene, args []string) {
	o := authserver.Options{Opaque: true}
	for _, flag := range args[1:] {
		switch flag {
		case "-no-registration":
			o.NoRegistration = true
		case "-keyed": // the client "keyed" authenticates with key.pem, and $SUBJECT is a token of alice's to exchange
			part := base64.RawURLEncoding.EncodeToString
			ts.Setenv("SUBJECT",
				part([]byte(`{"alg":"none"}`))+"."+part([]byte(`{"sub":"alice","iss":"somebody"}`))+"."+part([]byte("signature")))
			key, err := rsa.GenerateKey(rand.Reader, 2048)
			ts.Check(err)
			private, err := x509.MarshalPKCS8PrivateKey(key)
			ts.Check(err)
			public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
			ts.Check(err)
			o.Clients = []authserver.Client{{
				ID: "keyed", Key: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
			}}
			ts.Check(os.WriteFile(ts.MkAbs("key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
				0o600))
		}
	}
	sc.guarded = newGuarded(sc.t, o)
	ts.Setenv(args[0], sc.guarded.url)
	ts.Setenv("ISSUER", sc.guarded.as.Issuer)
}

// revokeToken implements "revoked USER", which ends every token of a user.
func revokeToken(_ *testscript.TestScript, sc *scene, args []string) {
	sc.guarded.as.Revoke(sc.t, args[0])
}

// expireToken implements "expired USER", which ends the tokens that renew a user's sign-ins.
func expireToken(_ *testscript.TestScript, sc *scene, args []string) {
	sc.guarded.as.Expire(sc.t, args[0])
}

// refuse makes the authorization server answer token requests of a grant with a status and a body. "" ends this.
func (g *signInServer) refuse(grant string, status int, body string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuses = func(of string, w http.ResponseWriter) bool {
		if of == "" || of != grant {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}
}

// refuses implements "refuses GRANT STATUS BODY" and "refuses nothing".
func refuses(ts *testscript.TestScript, sc *scene, args []string) {
	if len(args) != 3 {
		sc.guarded.refuse("", 0, "")
		return
	}
	status, err := strconv.Atoi(args[1])
	ts.Check(err)
	sc.guarded.refuse(args[0], status, args[2])
}

// checkCount implements "counted WHAT N", which checks how often the authorization server did it.
func checkCount(ts *testscript.TestScript, sc *scene, args []string) {
	if got := fmt.Sprint(sc.guarded.as.Counts(sc.t)[args[0]]); got != args[1] {
		ts.Fatalf("%s: %s, want %s (%v)", args[0], got, args[1], sc.guarded.as.Counts(sc.t))
	}
}

// checkUnseen implements "unseen". It checks that no secret is in the last output, in any program's output, in files,
// or in the arguments and environment of running processes. Browsers write theirs to a file.
func checkUnseen(ts *testscript.TestScript, sc *scene, _ []string) {
	secrets := sc.guarded.known()
	if len(secrets) == 0 {
		ts.Fatalf("there is no secret to look for")
	}
	check := func(where, text string) {
		for _, secret := range secrets {
			if strings.Contains(text, secret) || findSecret(text, secret) != "" {
				ts.Fatalf("%s shows a secret: %.200s", where, text)
			}
		}
	}
	check("stdout", ts.ReadFile("stdout"))
	check("stderr", ts.ReadFile("stderr"))
	for name, p := range sc.programs {
		check(name, p.out.String()+p.err.String())
		for process, given := range childrenOf(p.cmd.Process.Pid) {
			check(process, given)
			if strings.Contains(given, storeKey) {
				ts.Fatalf("%s has the key of the store", process)
			}
		}
	}
	if given, err := os.ReadFile(ts.MkAbs(browserGiven)); err == nil && strings.Contains(string(given), storeKey) {
		ts.Fatalf("the browser has the key of the store")
	}
	ts.Check(filepath.WalkDir(ts.MkAbs("."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a temporary file
			}
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			check(path, string(text))
		}
		return nil
	}))
}

const (
	storeKey     = "\x00INDUS_STORE_KEY="
	browserGiven = "browser.given"
)

// environmentOf returns the command line and the environment of a process, or "" if there is no /proc.
func environmentOf(process string) string {
	line, _ := os.ReadFile("/proc/" + process + "/cmdline")
	env, _ := os.ReadFile("/proc/" + process + "/environ")
	return string(line) + "\x00" + string(env)
}

// childrenOf returns the command lines and environments of a process's descendants.
func childrenOf(pid int) map[string]string {
	found := map[string]string{}
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range children {
		list, _ := os.ReadFile(file)
		for _, child := range strings.Fields(string(list)) {
			found[child] = environmentOf(child)
			if id, err := strconv.Atoi(child); err == nil {
				maps.Copy(found, childrenOf(id))
			}
		}
	}
	return found
}

// typed implements "typed NAME LINE...", which writes lines to a program's stdin. "stdout" stands for the last output.
func typed(ts *testscript.TestScript, sc *scene, args []string) {
	for _, line := range args[1:] {
		if line == "stdout" {
			line = strings.TrimSpace(ts.ReadFile("stdout"))
		}
		sc.program(ts, args[0]).send(line)
	}
}
