package toolbox_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/toolbox"
)

func TestWatchersHearInOrderAndCanBeAskedInTheCall(t *testing.T) {
	r := toolbox.NewRegistry(nil)
	var heard []string
	stopFirst := r.Watch(func() { heard = append(heard, "first") })
	stopSecond := r.Watch(func() {
		heard = append(heard, "second:"+names(r.Snapshot("").Tools)[0]) // no lock is held
	})
	r.Add(echo("a"))
	stopFirst()
	stopFirst()
	r.Add(echo("b"))
	stopSecond()
	r.Add(echo("c"))
	if diff := cmp.Diff([]string{"first", "second:a", "second:a"}, heard); diff != "" {
		t.Error(diff)
	}
}

func TestWatchersMayChangeWhatTheyWatch(t *testing.T) {
	r := toolbox.NewRegistry(nil)
	calls := 0
	stop := r.Watch(func() {
		if calls++; calls == 1 {
			r.Add(echo("b"))
			r.Watch(func() {})() // a watcher added during Notify is first called next time
		}
	})
	defer stop()
	r.Add(echo("a"))
	if calls != 2 {
		t.Errorf("heard %d changes of 2", calls)
	}
}

func TestStopWaitsForTheCallUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w toolbox.Watchers
		inside, leave := make(chan struct{}), make(chan struct{})
		stop := w.Watch(func() { close(inside); <-leave })
		go w.Notify()
		<-inside
		stopped := false
		go func() { stop(); stopped = true }()
		synctest.Wait()
		if stopped {
			t.Error("stop returned while changed was running")
		}
		close(leave)
		synctest.Wait()
		if !stopped {
			t.Error("stop did not return")
		}
		w.Notify() // would close the channel again inside the call
	})
}
