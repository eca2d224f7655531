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

// slowKV is a KV whose Set is slow: before runs first, and the answer may be lost and the step repeated.
type slowKV struct {
	cluster.KV
	before func()
	twice  bool
}

func (k *slowKV) Set(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	k.before()
	if k.twice {
		if _, err := k.KV.Set(ctx, key, value, revision, ttl); err != nil {
			return 0, err
		}
	}
	return k.KV.Set(ctx, key, value, revision, ttl)
}

// TestALeaseOfASlowEngine checks that a lease is taken if an earlier one expires during the step, or if the step is done
// twice. Another holder is named.
func TestALeaseOfASlowEngine(t *testing.T) {
	for name, twice := range map[string]bool{"the other expires": false, "the step is repeated": true} {
		synctest.Test(t, func(t *testing.T) {
			engine := (&clustertest.Memory{}).Connect()
			kv := engine.KV("leases")
			if _, err := kv.Set(t.Context(), "k", []byte(`{"owner":"x","data":"earlier"}`), 0, 2*time.Second); err != nil {
				t.Fatal(err)
			}
			slow := &slowKV{kv, func() { time.Sleep(3 * time.Second) }, twice}
			if twice {
				slow.before = func() {}
			}
			l, err := cluster.Acquire(t.Context(), slow, "k", "h", 10*time.Second, func(string) bool { return true })
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !l.Held() {
				t.Errorf("%s: it is not held", name)
			}
			_, err = cluster.Acquire(t.Context(), kv, "k", "other", 10*time.Second, nil)
			if held, ok := errors.AsType[*cluster.HeldError](err); !ok || held.Data != "h" {
				t.Errorf("%s: %v", name, err)
			}
			slow.twice, slow.before = false, func() {}
			if err := l.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
