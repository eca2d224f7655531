package approval_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/indusagi/indus/control/approval"
)

var noContext = context.Background()

// model is what a book must do, without a file: the newest item of each call.
type model struct {
	expire  time.Duration
	most    int
	items   map[string]*modelItem // by call
	waiting map[string]string     // the call of each waiting id
}

type modelItem struct {
	id      string
	state   approval.State
	expires time.Time
}

// at returns the item of a call that counts at a time, or nil.
func (m *model) at(call string, now time.Time) *modelItem {
	i := m.items[call]
	if i == nil || !now.Before(i.expires) || i.state == approval.Spent {
		return nil
	}
	return i
}

// open returns the number of items that wait or are unspent grants.
func (m *model) open(now time.Time) (n int) {
	for call := range m.items {
		if i := m.at(call, now); i != nil && i.state != approval.Refused {
			n++
		}
	}
	return n
}

// TestModel takes random steps on a book and on a model of it. Some steps reopen the book, or use a second one.
func TestModel(t *testing.T) {
	t.Parallel()
	for range 4 {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			o := approval.Options{Expire: time.Minute, MaxPerPrincipal: 4}
			d := newDesk(t, o)
			m := &model{expire: time.Minute, most: 4, items: map[string]*modelItem{}, waiting: map[string]string{}}
			for n := range 150 {
				switch r.IntN(10) {
				case 0:
					d.advance(time.Duration(r.IntN(70)) * time.Second)
				case 1:
					d.reopen(o)
				case 2, 3, 4:
					m.decide(t, d, r)
				default:
					m.require(t, d, fmt.Sprint(r.IntN(6)))
				}
				if t.Failed() {
					t.Fatalf("at step %d", n)
				}
			}
		})
	}
}

func (m *model) require(t *testing.T, d *desk, call string) {
	t.Helper()
	item, outcome, err := d.Require(t.Context(), callOf(call), nil)
	known := m.at(call, d.now())
	if known == nil {
		_, limited := errors.AsType[*approval.LimitError](err)
		switch {
		case m.open(d.now()) >= m.most:
			if !limited {
				t.Errorf("call %s: %v, %v over the limit", call, outcome, err)
			}
		case err != nil || outcome != approval.Pending || m.waiting[item.ID] != "":
			t.Errorf("a new call %s: %v of %s, %v", call, outcome, item.ID, err)
		default:
			m.items[call] = &modelItem{item.ID, approval.Waiting, d.now().Add(m.expire)}
			m.waiting[item.ID] = call
		}
		return
	}
	want := map[approval.State]approval.Outcome{
		approval.Waiting: approval.Pending, approval.Allowed: approval.Granted, approval.Refused: approval.Denied,
	}[known.state]
	if err != nil || outcome != want || item.ID != known.id {
		t.Errorf("call %s: %v of %s, %v; not %v of %s", call, outcome, item.ID, err, want, known.id)
	}
	if known.state == approval.Allowed {
		known.state = approval.Spent
	}
}

func (m *model) decide(t *testing.T, d *desk, r *rand.Rand) {
	t.Helper()
	for id, call := range m.waiting { // any of all that ever waited
		yes := r.IntN(3) > 0
		_, err := d.Decide(t.Context(), id, approval.Decision{Allow: yes, Channel: approval.ByOperator})
		i := m.items[call]
		switch {
		case i.id == id && i.state == approval.Waiting && d.now().Before(i.expires):
			if err != nil {
				t.Errorf("%s: %v", id, err)
			}
			i.state, i.expires = approval.Refused, d.now().Add(m.expire)
			if yes {
				i.state = approval.Allowed
			}
		case !errors.Is(err, approval.ErrExpired) && !errors.Is(err, approval.ErrDecided):
			t.Errorf("%s does not wait: %v", id, err)
		}
		return
	}
}
