package toolbox_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/toolbox"
)

func TestWatchersHearInOrderAndCanBeAskedInTheCall(t *testing.T) {
	r := toolbox.NewRegistry(nil)
	var received []string
	stopFirst := r.Watch(func() { received = append(received, "first") })
	stopSecond := r.Watch(func() {
		received = append(received, "second:"+names(r.Snapshot("").Tools)[0]) // no lock is held
	})
	r.Add(echoTool("a"))
	stopFirst()
	stopFirst()
	r.Add(echoTool("b"))
	stopSecond()
	r.Add(echoTool("c"))
	if diff := cmp.Diff([]string{"first", "second:a", "second:a"}, received); diff != "" {
		t.Error(diff)
	}
}

func TestWatchersMayChangeWhatTheyWatch(t *testing.T) {
	r := toolbox.NewRegistry(nil)
	calls := 0
	stop := r.Watch(func() {
		if calls++; calls == 1 {
			r.Add(echoTool("b"))
			r.Watch(func() {})() // a watcher added during Notify is first called next time
		}
	})
	defer stop()
	r.Add(echoTool("a"))
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
