package approval

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/watch"
)

const (
	eventWaiting = "approval.waiting"
	eventDecided = "approval.decided"

	postTimeout  = 10 * time.Second
	maxAttempts  = 10
	maxPause     = time.Minute
	maxQueued    = 1000
	secretPrefix = "whsec_"
)

// WebhookOptions are the options of [NewWebhook]. The zero value and nil are valid.
type WebhookOptions struct {
	// Report receives the first error of a series, and an error for each event that is given up. Nil ignores them.
	Report func(error)
	// Pause is the pause before the second attempt. It doubles up to a minute. Zero means 1 s.
	Pause time.Duration
}

// Webhook posts events to a URL, as Standard Webhooks describes: approval.waiting for each item that waits, and
// approval.decided for each decision. The data of an event is the item, with the arguments as [Book.Item] returns them.
//
// An event is sent at least once, with the same webhook-id each time: ten attempts at most, and none for an item that
// does not wait any more. After a restart, items that still wait are announced again. Redirects are not followed.
// Any address is allowed, also a private one, because the operator configured it.
type Webhook struct {
	url  string
	sign *standardwebhooks.Webhook
	opts WebhookOptions
	http *http.Client
}

// NewWebhook returns a webhook for a URL. The secret is "whsec_" and 24 to 64 bytes in base64.
func NewWebhook(address, secret string, o *WebhookOptions) (*Webhook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return nil, errors.New(`the URL of the webhook is no http or https URL without a login: write "https://host/path"`)
	}
	const remedy = `: write "whsec_" and 24 to 64 random bytes in base64, such as of "openssl rand -base64 32"`
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("the secret of the webhook is no secret of Standard Webhooks" + remedy)
	}
	sign, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return nil, err
	}
	w := &Webhook{url: address, sign: sign}
	if o != nil {
		w.opts = *o
	}
	w.opts.Pause = cmp.Or(w.opts.Pause, time.Second)
	w.http = &http.Client{
		Timeout:       postTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return w, nil
}

// event is the body of a request.
type event struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      Item      `json:"data"`
}

// delivery is an event in the queue.
type delivery struct {
	event
	id       string
	due      time.Time
	attempts int
}

// outbox is the state of one Run.
type outbox struct {
	*Webhook
	book      *Book
	announced map[string]bool // ids of events that were queued; of items that the book has
	queue     []*delivery     // by due
	failing   bool
}

// Run posts events until the context ends. It never delays a step of the book. Several processes may run it on one
// file: the receiver then gets each event from each of them, with the same webhook-id.
func (w *Webhook) Run(ctx context.Context, book *Book) {
	changes := make(chan struct{}, 1)
	defer book.Watch(func() { watch.Signal(changes) })()
	o := &outbox{Webhook: w, book: book}
	for {
		o.collect(ctx)
		pause := o.sendDue(ctx)
		select {
		case <-changes:
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// idlePause is the pause with an empty queue. A change ends it.
const idlePause = time.Hour

// collect queues the events of items that are new or newly decided. At the first time, earlier decisions are skipped.
func (o *outbox) collect(ctx context.Context) {
	items, err := o.book.List(ctx, &Filter{All: true})
	if err != nil {
		o.fail(fmt.Errorf("webhook: %w", err))
		return
	}
	first, announced := o.announced == nil, map[string]bool{}
	for _, i := range items {
		kind := eventWaiting
		switch {
		case !i.Decided.IsZero():
			kind = eventDecided
		case i.State != Waiting:
			continue
		}
		id := kind + "." + i.ID + "." + strconv.FormatInt(i.Asked.UnixMilli(), 10)
		announced[id] = true
		if o.announced[id] || first && kind == eventDecided {
			continue
		}
		if len(o.queue) == maxQueued {
			o.fail(fmt.Errorf("webhook: %d events are queued, and that of %s is dropped", maxQueued, i.ID))
			continue
		}
		at := i.Asked
		if kind == eventDecided {
			at = i.Decided
		}
		o.queue = append(o.queue, &delivery{event: event{kind, at, i}, id: id, due: time.Now()})
	}
	o.announced = announced
}

// sendDue sends the events that are due, and returns the time until the next one.
func (o *outbox) sendDue(ctx context.Context) time.Duration {
	for ctx.Err() == nil {
		o.queue = slices.DeleteFunc(o.queue, func(d *delivery) bool { return o.isLate(ctx, d) })
		if len(o.queue) == 0 {
			return idlePause
		}
		d := slices.MinFunc(o.queue, func(a, b *delivery) int { return a.due.Compare(b.due) })
		if wait := time.Until(d.due); wait > 0 {
			return wait
		}
		err := o.post(ctx, d)
		if err != nil && ctx.Err() != nil {
			break
		}
		d.attempts++
		switch {
		case err == nil:
			o.failing = false
		case d.attempts < maxAttempts:
			d.due = time.Now().Add(min(o.opts.Pause<<(d.attempts-1), maxPause))
			if !o.failing {
				o.fail(fmt.Errorf("webhook: %s of %s: %w; it is sent again", d.Type, d.Data.ID, err))
			}
			o.failing = true
			continue
		default:
			o.fail(fmt.Errorf("webhook: %s of %s is given up: %w", d.Type, d.Data.ID, err))
		}
		o.queue = slices.DeleteFunc(o.queue, func(other *delivery) bool { return other == d })
	}
	return idlePause
}

// isLate reports whether an item was announced as waiting and does not wait any more.
func (o *outbox) isLate(ctx context.Context, d *delivery) bool {
	if d.Type != eventWaiting {
		return false
	}
	i, err := o.book.Item(ctx, d.Data.ID)
	return errors.Is(err, ErrUnknown) || err == nil && i.State != Waiting
}

func (o *outbox) fail(err error) {
	if o.opts.Report != nil {
		o.opts.Report(err)
	}
}

// post sends an event once.
func (o *outbox) post(ctx context.Context, d *delivery) error {
	body, err := text.JSON(d.event)
	if err != nil {
		return err
	}
	now := time.Now()
	signature, err := o.sign.Sign(d.id, now, body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "indus")
	r.Header.Set(standardwebhooks.HeaderWebhookID, d.id)
	r.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	response, err := o.http.Do(r)
	if err != nil {
		if in, ok := errors.AsType[*url.Error](err); ok { // its text has the URL, which may be secret
			err = in.Err
		}
		return err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection is used again
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver answers %d", response.StatusCode)
	}
	return nil
}
