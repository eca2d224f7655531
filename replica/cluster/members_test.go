package cluster_test

import (
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
