//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/replica/cluster"
)

// approvals is calls of many replicas that wait for approvals, and decisions at any replica.
type approvals struct {
	t     *testing.T
	books []*approval.Book

	mu      sync.Mutex
	asked   map[string]bool              // ids of items that are confirmed
	decided map[string]approval.Decision // decisions that are confirmed
	spent   map[string]int               // how often the grant of an item was used
}

func newApprovals(t *testing.T, engines ...cluster.Engine) *approvals {
	t.Helper()
	a := &approvals{t: t, asked: map[string]bool{}, decided: map[string]approval.Decision{}, spent: map[string]int{}}
	for _, e := range engines {
		d, err := cluster.OpenDocument(t.Context(), e, "approvals")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.Close)
		book, err := approval.Open("", &approval.Options{Document: d, Now: e.Now})
		if err != nil {
			t.Fatal(err)
		}
		a.books = append(a.books, book)
	}
	return a
}

func (a *approvals) run(ctx context.Context) {
	var running sync.WaitGroup
	for i, book := range a.books {
		running.Go(func() {
			r := rand.New(rand.NewPCG(*seed, 200+uint64(i)))
			for n := 0; ctx.Err() == nil; n++ {
				err := a.step(book, r, fmt.Sprintf("%d.%d", i, n))
				if err != nil && !errors.Is(err, cluster.ErrUnavailable) && !errors.Is(err, cluster.ErrConflict) &&
					!errors.Is(err, approval.ErrDecided) && !errors.Is(err, approval.ErrUnknown) {
					a.t.Error(err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(time.Duration(r.IntN(400)) * time.Millisecond):
				}
			}
		})
	}
	running.Wait()
}

// step asks for an approval, or decides about a call that waits. by is the approver, who decides once.
func (a *approvals) step(book *approval.Book, r *rand.Rand, by string) error {
	ctx := a.t.Context()
	if waiting, err := book.List(ctx, nil); err == nil && len(waiting) > 0 && r.IntN(2) == 0 {
		d := approval.Decision{Allow: r.IntN(3) > 0, By: by, Channel: approval.ByOperator}
		id := waiting[r.IntN(len(waiting))].ID
		_, err := book.Decide(ctx, id, d)
		a.mu.Lock()
		defer a.mu.Unlock()
		if err == nil {
			if other, ok := a.decided[id]; ok {
				a.t.Errorf("%s is decided by %s and by %s", id, other.By, by)
			}
			a.decided[id] = d
		}
		return err
	}
	item, outcome, err := book.Require(ctx, approval.Item{
		Subject: approval.Subject{Tool: fmt.Sprint(r.IntN(5))}, Way: approval.Other,
	}, nil)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.asked[item.ID] = true
		if outcome == approval.Granted {
			a.spent[item.ID]++
		}
	}
	return err
}

// granted returns nil once a grant was used.
func (a *approvals) granted() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.spent) == 0 {
		return errors.New("no grant was used")
	}
	return nil
}

// check fails the test if something that was confirmed is lost, or if a grant was used twice. book is any book.
func (a *approvals) check(book *approval.Book) {
	a.t.Helper()
	all, err := book.List(a.t.Context(), &approval.Filter{All: true})
	if err != nil {
		a.t.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.t.Logf("%d items, %d decisions, %d grants", len(a.asked), len(a.decided), len(a.spent))
	kept := map[string]bool{}
	for _, item := range all {
		kept[item.ID] = true
		d, decided := a.decided[item.ID]
		if decided && (item.By != d.By || (item.State == approval.Refused) == d.Allow) {
			a.t.Errorf("the decision of %s is lost: %+v", d.By, item)
		}
		if n := a.spent[item.ID]; n > 1 || n == 1 && item.State != approval.Spent {
			a.t.Errorf("%d uses of %+v", n, item)
		}
	}
	for id := range a.asked {
		if !kept[id] && len(all) < 900 { // the book forgets the oldest ones of 1,000
			a.t.Errorf("item %s is lost", id)
		}
	}
}
