package approval_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/indusagi/indus/control/approval"
)

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// posted is a request that a receiver got.
type posted struct {
	id   string
	body struct {
		Type string
		Data approval.Item
	}
}

// receiver verifies the signatures with the official library. answer returns the status of each request.
func receiver(t *testing.T, answer func(n int) int) (*httptest.Server, <-chan posted) {
	judge, err := standardwebhooks.NewWebhook(webhookSecret)
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan posted, 100)
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := judge.Verify(body, r.Header); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s: %v", r.Method, err)
		}
		p := posted{id: r.Header.Get("webhook-id")}
		if err := json.Unmarshal(body, &p.body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(answer(int(n.Add(1))))
		out <- p
	}))
	t.Cleanup(s.Close)
	return s, out
}

// run runs a webhook until stop has returned.
func run(t *testing.T, b *approval.Book, address string, report func(error)) (stop func()) {
	t.Helper()
	w, err := approval.NewWebhook(address, webhookSecret, &approval.WebhookOptions{Report: report, Pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx, b) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func (p posted) check(t *testing.T, kind string, i approval.Item) {
	t.Helper()
	if p.body.Type != kind || p.body.Data.ID != i.ID || p.body.Data.State != i.State {
		t.Errorf("got %s of %s, %s; want %s of %s, %s",
			p.body.Type, p.body.Data.ID, p.body.Data.State, kind, i.ID, i.State)
	}
}

// Items and decisions are announced, also those of another process, with secrets masked. After a restart, only items
// that wait are announced again, with the same id.
func TestWebhook(t *testing.T) {
	d := newDesk(t, approval.Options{Poll: time.Millisecond})
	b := d.Book
	d.reopen(approval.Options{}) // as another process has it
	s, got := receiver(t, func(int) int { return http.StatusNoContent })
	stop := run(t, b, s.URL, func(err error) { t.Error(err) })
	wanted := callOf("{}")
	wanted.Shown = []byte(`{"token":"abcdef123"}`)
	first := d.wants(wanted, approval.Pending)
	p := <-got
	p.check(t, "approval.waiting", first)
	if shown := string(p.body.Data.Shown); shown != `{"token":"<secret: 9 characters>"}` {
		t.Errorf("the arguments are %s", shown)
	}
	first = d.decide(first.ID, allowed)
	(<-got).check(t, "approval.decided", first)

	second := callOf("{}")
	second.Tool = "delete_repo"
	second = d.wants(second, approval.Pending)
	p = <-got
	p.check(t, "approval.waiting", second)
	stop()
	run(t, b, s.URL, func(err error) { t.Error(err) })
	again := <-got
	again.check(t, "approval.waiting", second)
	if again.id != p.id {
		t.Errorf("the ids are %s and %s", p.id, again.id)
	}
}

// A request that fails is sent again with the same id, and a redirect is a failure.
func TestWebhookIsSentAgain(t *testing.T) {
	d := newDesk(t, approval.Options{Poll: time.Millisecond})
	s, got := receiver(t, func(n int) int {
		return []int{http.StatusInternalServerError, http.StatusTemporaryRedirect, http.StatusTooManyRequests, 200}[min(n-1, 3)]
	})
	errs := make(chan error, 100)
	run(t, d.Book, s.URL+"/hook?key=s3cret", func(err error) { errs <- err })
	asked := d.wants(callOf("{}"), approval.Pending)
	ids := map[string]bool{}
	for range 4 {
		p := <-got
		p.check(t, "approval.waiting", asked)
		ids[p.id] = true
	}
	if len(ids) != 1 {
		t.Errorf("the ids are %v", ids)
	}
	if err := <-errs; !strings.Contains(err.Error(), "the receiver answers 500") || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
	decided := d.decide(asked.ID, allowed)
	(<-got).check(t, "approval.decided", decided)
	if len(errs) != 0 {
		t.Errorf("one series of failures is reported as %v too", <-errs)
	}
}

// An event is given up after ten attempts, and steps of the book never wait for the receiver.
func TestWebhookIsGivenUp(t *testing.T) {
	d := newDesk(t, approval.Options{Poll: time.Millisecond})
	s, got := receiver(t, func(int) int { return http.StatusServiceUnavailable })
	errs := make(chan error, 100)
	asked := d.wants(callOf("{}"), approval.Pending)
	run(t, d.Book, s.URL, func(err error) { errs <- err })
	<-errs
	if err := <-errs; !strings.Contains(err.Error(), "approval.waiting of "+asked.ID+" is given up") {
		t.Error(err)
	}
	if len(got) != 10 {
		t.Errorf("there were %d attempts", len(got))
	}
}

// An item that was decided before it could be announced is announced as decided only.
func TestWebhookDropsLateEvents(t *testing.T) {
	d := newDesk(t, approval.Options{Poll: time.Millisecond})
	asked := d.wants(callOf("{}"), approval.Pending)
	var decided approval.Item
	s, got := receiver(t, func(n int) int {
		if n == 1 {
			decided = d.decide(asked.ID, approval.Decision{Channel: approval.ByOperator})
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	run(t, d.Book, s.URL, nil)
	(<-got).check(t, "approval.waiting", asked)
	(<-got).check(t, "approval.decided", decided)
}

func TestWebhookSettings(t *testing.T) {
	for _, tt := range []struct{ url, secret, want string }{
		{"ftp://host/", webhookSecret, "no http or https URL"},
		{"https://user:s3cret@host/", webhookSecret, "without a login"},
		{"https:///hook", webhookSecret, "no http or https URL"},
		{"https://host/", "", "no secret of Standard Webhooks"},
		{"https://host/", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "no secret"},
		{"https://host/", "whsec_s3cret", "openssl rand -base64 32"},
	} {
		if _, err := approval.NewWebhook(tt.url, tt.secret, nil); err == nil || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s, %s: %v", tt.url, tt.secret, err)
		}
	}
}
