package cluster_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/internal/testkit/clustertest"
	"github.com/indusagi/indus/replica/cluster"
)

// TestANameThatWasTaken checks that a process which was silent for longer than its lease is notified when another one
// has taken its name, and when it has the name again.
func TestANameThatWasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, engine := t.Context(), &clustertest.Memory{}
		silent, taken := engine.Connect(), make(chan string, 10)
		first, err := cluster.Join(ctx, silent, "a", cluster.Member{Address: "h:1"}, 10*time.Second,
			&cluster.MembersOptions{Taken: func(holder string) { taken <- holder }})
		if err != nil {
			t.Fatal(err)
		}
		silent.SetDown(true)
		second, err := cluster.Join(ctx, engine.Connect(), "a", cluster.Member{Address: "h:2"}, 10*time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		silent.SetDown(false)
		if holder := <-taken; holder != "h:2" {
			t.Errorf("the name was taken by %q", holder)
		}
		if err := second.Leave(ctx); err != nil {
			t.Error(err)
		}
		if holder := <-taken; holder != "" {
			t.Errorf("the name is of %q", holder)
		}
		if err := first.Leave(ctx); err != nil {
			t.Error(err)
		}
	})
}

// late is an engine that answers so late that each lease is over before its confirmation arrives: a step is a conflict
// with the same step that was sent before, whose key is gone.
type late struct{ *clustertest.Client }

func (e late) KV(name string) cluster.KV { return lateKV{e.Client.KV(name)} }

type lateKV struct{ cluster.KV }

func (lateKV) Get(context.Context, string) (cluster.Entry, error) {
	return cluster.Entry{}, cluster.ErrNotFound
}

func (lateKV) Set(context.Context, string, []byte, uint64, time.Duration) (uint64, error) {
	return 0, cluster.ErrConflict
}

// TestJoinThroughALateEngine checks that a name is not said to be another process's if none is known.
func TestJoinThroughALateEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := cluster.Join(t.Context(), late{(&clustertest.Memory{}).Connect()}, "a", cluster.Member{Address: "h:1"},
			10*time.Second, &cluster.MembersOptions{
				Waits: func(holder string, _ time.Duration) { t.Errorf("it waits for %q", holder) },
			})
		if held, ok := errors.AsType[*cluster.HeldError](err); ok || !errors.Is(err, cluster.ErrUnavailable) {
			t.Errorf("%v, %v", err, held)
		}
	})
}
