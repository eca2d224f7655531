//go:build unix

package chaos

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/replica/cluster/nats"
)

const holderNATS, holderServer = "INDUS_TEST_HOLDER_NATS", "INDUS_TEST_HOLDER_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(holderNATS) != "" {
		hold(context.Background())
		return
	}
	os.Exit(m.Run())
}

// hold is the process of TestHolderIsPaused: it sends a request for each line.
func hold(ctx context.Context) {
	e, err := nats.Connect(ctx, &nats.Options{Servers: os.Getenv(holderNATS)})
	if err != nil {
		panic(err)
	}
	server := os.Getenv(holderServer)
	client, _, err := newClient(ctx, e, cluster.MinLease)
	if err != nil {
		panic(err)
	}
	rt := client.Transport(nil, server, "")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(send(ctx, rt, server))
	}
}

// A process is paused while its request for a new token is on the way, until another one has its lease. The other one
// waits for the tokens, and does not use the spent refresh token.
func TestHolderIsPaused(t *testing.T) {
	s := natsserver.Start(t)
	paused := make(chan struct{})
	var pause func()
	var as *authserver.Server
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte("grant_type=refresh_token")) {
			pause()
		}
		to, _ := url.Parse(as.URL)
		(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }}).ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	as = authserver.Start(t, &authserver.Options{Opaque: true, Issuer: front.URL})
	server := protect(t, as)
	e, err := nats.Connect(t.Context(), &nats.Options{Servers: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	other, stop, err := newClient(t.Context(), e, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	if err := other.SignIn(t.Context(), server, ""); err != nil {
		t.Fatal(err)
	}
	as.Expire(t, user)

	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), holderNATS+"="+s.URL, holderServer+"="+server)
	holder.Stderr = t.Output()
	stdin, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	pause = sync.OnceFunc(func() {
		_ = holder.Process.Signal(syscall.SIGSTOP)
		close(paused)
	})
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	}()
	_, _ = io.WriteString(stdin, "\n")
	<-paused
	result := make(chan error, 1)
	go func() { result <- send(t.Context(), other.Transport(nil, server, ""), server) }()
	waitForAnotherHolder(t, e)
	_ = holder.Process.Signal(syscall.SIGCONT)
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() || lines.Text() != "<nil>" {
		t.Errorf("the paused process: %s", lines.Text())
	}
	if err := <-result; err != nil {
		t.Errorf("the other process: %v", err)
	}
	if n := as.Counts(t); n["refresh_token"] != 1 || n["revoked"] > 0 {
		t.Errorf("the authorization server counts %v", n)
	}
}

// waitForAnotherHolder waits until the lock of a sign-in has a second holder.
func waitForAnotherHolder(t *testing.T, e cluster.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	holders := map[string]bool{}
	_ = e.KV("sign-in-locks").Watch(ctx, func(c cluster.Change) {
		if len(c.Value) > 0 {
			holders[string(c.Value)] = true
		}
		if len(holders) == 2 {
			cancel()
		}
	})
	if len(holders) < 2 {
		t.Error("no other process gets the lock")
	}
}
