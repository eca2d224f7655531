package approval

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/statefile"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/replica/cluster"
)

// Options of [Open]. The zero value and nil are valid.
type Options struct {
	// Expire is how long an item that Require stores waits, and then how long its decision is good. Zero means 10 minutes.
	Expire time.Duration
	// Max limits the open items, and MaxPerPrincipal those of one caller. Zero means 1,000 and 100.
	Max, MaxPerPrincipal int
	// Poll is the pause between two looks for changes by other processes, while there are watchers. Zero means 250 ms.
	Poll time.Duration
	// Now is the clock. Nil means the clock of the system.
	Now func() time.Time
	// Document has the items instead of the file, so that the processes of a cluster share them. No message then names
	// the path.
	Document *cluster.Document
}

// Book holds the items of a file.
type Book struct {
	opts    Options
	file    *statefile.File[content]
	watches watch.List
	poller  poller
}

// Open opens the approvals in the file at path. The file is made by the first step, with access for the user only. Open
// fails if the file cannot be read.
func Open(path string, o *Options) (*Book, error) {
	b := &Book{}
	if o != nil {
		b.opts = *o
	}
	if b.opts.Document != nil {
		path = "the approvals of the cluster"
	}
	b.file = newFile(path)
	b.file.Shared = b.opts.Document
	b.opts.Expire = cmp.Or(b.opts.Expire, 10*time.Minute)
	b.opts.Max, b.opts.MaxPerPrincipal = cmp.Or(b.opts.Max, 1000), cmp.Or(b.opts.MaxPerPrincipal, 100)
	b.opts.Poll = cmp.Or(b.opts.Poll, 250*time.Millisecond)
	if b.opts.Now == nil {
		b.opts.Now = time.Now
	}
	b.poller.book = b
	_, err := b.file.Read(context.Background())
	return b, err
}

// now returns the time as the file has it.
func (b *Book) now() time.Time { return b.opts.Now().UTC().Truncate(time.Millisecond) }

// Left returns the time until an item expires by the clock of the book. The clock of this machine may be another one.
func (b *Book) Left(i Item) time.Duration { return i.Expires.Sub(b.now()) }

// Require asks for one run of a call. Of item it reads the subject, the arguments, the way and the texts for the
// approver. Before it stores a new item, it calls describe to complete these texts; describe may be nil. In one step:
//
//   - If there is an unspent grant for the subject, the grant is spent: Granted.
//   - If the subject was denied and the denial has not expired, it returns the denial: Denied.
//   - If an item of the subject waits, it returns that item: Pending.
//   - Otherwise it stores a new item, which waits: Pending.
//
// If too many items are open, it returns a [*LimitError].
func (b *Book) Require(ctx context.Context, item Item, describe func(*Item)) (Item, Outcome, error) {
	switch item.Way {
	case Caller, Other, Either:
	default:
		return Item{}, Pending, fmt.Errorf("approval: %q is no way: it is caller, other or either", item.Way)
	}
	item.Subject = item.Subject.bounded()
	key := item.Subject.digest(item.Way)
	all, err := b.file.Read(ctx)
	if err != nil {
		return Item{}, Pending, err
	}
	// A step that changes nothing needs no lock.
	if r := all.find(key, b.now()); r != nil && r.State != Allowed {
		return r.Item, outcomeOf(r.State), nil
	}
	out, outcome, err := b.require(ctx, &item, key, describe == nil)
	if errors.Is(err, errNew) {
		describe(&item) // without the lock
		out, outcome, err = b.require(ctx, &item, key, true)
	}
	if err != nil {
		return Item{}, Pending, err
	}
	return out, outcome, nil
}

// HasGrant reports whether Require would spend a grant for this item now.
func (b *Book) HasGrant(ctx context.Context, item Item) (bool, error) {
	all, err := b.file.Read(ctx)
	if err != nil {
		return false, err
	}
	item.Subject = item.Subject.bounded()
	r := all.find(item.Subject.digest(item.Way), b.now())
	return r != nil && r.State == Allowed, nil
}

// errNew is returned by require for an item that it would store.
var errNew = errors.New("approval: a new item")

// require is the step of Require. Without store, it returns errNew in place of storing a new item.
func (b *Book) require(ctx context.Context, item *Item, key Digest, store bool) (out Item, outcome Outcome, err error) {
	err = b.step(ctx, func(all content, now time.Time) (content, error) {
		outcome = Pending // also if another process was faster, and this is the second attempt
		r := all.find(key, now)
		switch {
		case r == nil:
			if err := b.checkLimits(all, item.Principal); err != nil {
				return nil, err
			}
			if !store {
				return nil, errNew
			}
			out = b.newItem(item, all, now)
			return append(all, &record{Item: out, key: key}), nil
		case r.State == Allowed:
			out, outcome = r.Item, Granted
			out.State, out.Used = Spent, now
			return all.with(&record{Item: out, key: key}), nil
		}
		out, outcome = r.Item, outcomeOf(r.State)
		return nil, statefile.ErrUnchanged
	})
	return out, outcome, err
}

func outcomeOf(s State) Outcome {
	if s == Refused {
		return Denied
	}
	return Pending
}

// step changes the file: edit gets its swept content. Watchers are notified.
func (b *Book) step(ctx context.Context, edit func(content, time.Time) (content, error)) error {
	changed := false
	err := b.file.Update(ctx, func(all content) (content, error) {
		now := b.now()
		all, err := edit(all.swept(now), now)
		changed = err == nil
		return all, err
	})
	if err == nil && changed {
		b.watches.Notify()
	}
	return err
}

// newItem returns a new item that waits.
func (b *Book) newItem(item *Item, all content, now time.Time) Item {
	shown, partial := shownOf(item.Shown)
	return Item{
		ID: newID(all), Subject: item.Subject, Shown: shown, Partial: partial,
		Bytes: cmp.Or(item.Bytes, len(item.Shown)), Program: clipJSON(item.Program, maxText),
		Title: clipJSON(item.Title, maxText), Description: clipJSON(item.Description, maxText),
		Era: item.Era, Claims: item.Claims,
		Rule: clipJSON(item.Rule, maxText), Way: item.Way, Changed: clipJSON(item.Changed, maxChanged),
		Asked: now, Expires: now.Add(b.opts.Expire), State: Waiting,
	}
}

const (
	maxText    = 1 << 10
	maxChanged = 4 << 10
)

// idLetters holds the characters of ids: no vowels, so that no id is a word, and none that look like another.
const idLetters = "23456789BCDFGHJKMNPQRSTVWXYZ"

const idLength = 4

// newID returns an id that no item has.
func newID(all content) string {
	for {
		var id strings.Builder
		for _, c := range []byte(rand.Text()) { // of 32 letters, each with the same probability
			if i := int(strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", c)); i < len(idLetters) && id.Len() < idLength {
				id.WriteByte(idLetters[i])
			}
		}
		if id.Len() == idLength && all.byID(id.String()) == nil {
			return id.String()
		}
	}
}

func (b *Book) checkLimits(all content, principal string) error {
	open, own := 0, 0
	for _, r := range all {
		if r.isOpen() {
			open++
			if r.Principal == principal {
				own++
			}
		}
	}
	switch {
	case own >= b.opts.MaxPerPrincipal:
		return &LimitError{Principal: principal, Limit: b.opts.MaxPerPrincipal}
	case open >= b.opts.Max:
		return &LimitError{Principal: principal, All: true, Limit: b.opts.Max}
	}
	return nil
}

// find returns the newest item of a key that still counts at a time, or nil.
func (c content) find(key Digest, now time.Time) *record {
	for _, r := range slices.Backward(c) {
		if r.key == key && now.Before(r.Expires) && (r.isOpen() || r.State == Refused) {
			return r
		}
	}
	return nil
}

func (c content) byID(id string) *record {
	for _, r := range slices.Backward(c) {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// with returns the content with a record in place of the one with the same id.
func (c content) with(r *record) content {
	c = slices.Clone(c)
	c[slices.IndexFunc(c, func(o *record) bool { return o.ID == r.ID })] = r
	return c
}

// Decide stores the decision of a person, which is good for as long as the item could wait. If it is refused, the error
// is one of [ErrUnknown], [ErrExpired], [ErrDecided], [ErrRequester] and [ErrNotCaller], and Decide returns the item as
// it is. Whether the approver has the right to decide is for the caller of Decide to check before.
func (b *Book) Decide(ctx context.Context, id string, d Decision) (Item, error) {
	id, d.By = normalID(id), bounded(d.By)
	var out Item
	err := b.step(ctx, func(all content, now time.Time) (content, error) {
		r := all.byID(id)
		if r == nil {
			return nil, fmt.Errorf("%w: %.20q", ErrUnknown, id)
		}
		out = r.Item
		if err := out.Check(d); err != nil {
			return nil, fmt.Errorf("approval %s: %w", id, err)
		}
		out.State = Refused
		if d.Allow {
			out.State = Allowed
		}
		out.By, out.Channel, out.Decided, out.Reason = d.By, d.Channel, now, clipJSON(d.Reason, maxText)
		out.Expires = now.Add(r.Expires.Sub(r.Asked)) // the options of the process that asked count
		return all.with(&record{Item: out, key: r.key}), nil
	})
	return out, err
}

// Check returns the error that [Book.Decide] returns for a decision about the item, or nil.
func (i *Item) Check(d Decision) error {
	own := d.By == i.Principal
	switch {
	case i.State == Expired && i.Decided.IsZero():
		return fmt.Errorf("%w at %s", ErrExpired, i.Expires.Local().Format(time.DateTime))
	case i.State != Waiting:
		return fmt.Errorf("%w: %s", ErrDecided, i.Verdict())
	}
	switch d.Channel {
	case ByOperator:
		return nil
	case ByCaller:
		if i.Way == Other || !own {
			return ErrRequester
		}
		return nil
	case ByPage, ByWebhook:
		switch {
		case i.Way == Other && (own || d.By == ""):
			return ErrRequester
		case i.Way == Caller && !own && d.Allow:
			return ErrNotCaller
		}
		return nil
	}
	return fmt.Errorf("%q is no channel", d.Channel)
}

// Verdict returns the decision as a phrase, such as "denied by bob at 2026-07-28 15:04:05: not on a Friday". The phrase
// may contain a person's text.
func (i *Item) Verdict() string {
	if i.Decided.IsZero() {
		return string(i.State)
	}
	word := "allowed"
	if i.State == Refused {
		word = "denied"
	}
	text := word + " by " + cmp.Or(i.By, "local") + " at " + i.Decided.Local().Format(time.DateTime)
	if i.State == Spent || i.State == Expired {
		text += " and " + string(i.State)
	}
	if i.Reason != "" {
		text += ": " + i.Reason
	}
	return text
}

func normalID(id string) string { return strings.ToUpper(strings.TrimSpace(id)) }

// Item returns the item with this id as it is now. Lower case is also accepted. The error is [ErrUnknown] if there is
// none.
func (b *Book) Item(ctx context.Context, id string) (Item, error) {
	all, err := b.file.Read(ctx)
	if err != nil {
		return Item{}, err
	}
	r := all.byID(normalID(id))
	if r == nil {
		return Item{}, fmt.Errorf("%w: %.20q", ErrUnknown, id)
	}
	return r.at(b.now()), nil
}

// List returns the selected items in the order in which they were asked. f may be nil.
func (b *Book) List(ctx context.Context, f *Filter) ([]Item, error) {
	all, err := b.file.Read(ctx)
	if err != nil {
		return nil, err
	}
	if f == nil {
		f = &Filter{}
	}
	now := b.now()
	var out []Item
	for _, r := range all {
		i := r.at(now)
		if (f.All || i.State == Waiting) && (f.Principal == nil || bounded(*f.Principal) == i.Principal) {
			out = append(out, i)
		}
	}
	return out, nil
}

// Wait returns the item once it is decided or has expired, also if another process decides it.
func (b *Book) Wait(ctx context.Context, id string) (item Item, err error) {
	watch.Until(ctx, b.Watch, func() bool {
		item, err = b.Item(ctx, id)
		return err != nil || item.State != Waiting
	})
	if err == nil && item.State == Waiting {
		err = ctx.Err()
	}
	return item, err
}
