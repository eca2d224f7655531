package audit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/indusagi/indus/control/audit"
)

// TestFollow checks that every record is read once, in order, over many files that are written meanwhile.
func TestFollow(t *testing.T) {
	t.Parallel()
	const total = 3000
	path := newPath(t)
	l := open(t, path, &audit.Options{MaxSize: 20_000})
	for i := range 100 {
		add(t, l, call(fmt.Sprint(i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	var following sync.WaitGroup
	began := make(chan struct{})
	following.Go(func() {
		err := audit.Follow(ctx, path, &audit.Filter{Last: 10, Server: "fs"}, func(r *audit.Record) error {
			got = append(got, r.Tool)
			if len(got) == 10 {
				close(began)
			}
			if len(got) == 10+total {
				cancel()
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-began
	for i := range total {
		add(t, l, call(fmt.Sprint(100+i)))
	}
	following.Wait()
	for i, tool := range got {
		if tool != fmt.Sprint(90+i) {
			t.Fatalf("record %d is %s, want %d", i, tool, 90+i)
		}
	}
}

func TestFollowReturnsTheErrorOfItsCaller(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	add(t, open(t, path, nil), call("a"))
	want := errors.New("the pipe is closed")
	if err := audit.Follow(t.Context(), path, nil, func(*audit.Record) error { return want }); !errors.Is(err, want) {
		t.Error(err)
	}
	if _, err := audit.Read(t.Context(), path, nil, func(*audit.Record) error { return want }); !errors.Is(err, want) {
		t.Error(err)
	}
}
