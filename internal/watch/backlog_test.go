package watch_test

import (
	"fmt"
	"testing"

	"github.com/indusagi/indus/internal/watch"
)

func ExampleBacklog() {
	var b watch.Backlog[string]
	b.Put("", 1, "a log")
	b.Put("tools", 2, "tools changed")
	b.Put("", 3, "another log")
	b.Put("tools", 4, "tools changed again")
	keyed, others, bytes := b.Size()
	fmt.Println(keyed, others, bytes, b.Take())
	keyed, others, bytes = b.Size()
	fmt.Println(keyed, others, bytes, b.Take())
	// Output:
	// 1 2 8 [a log tools changed again another log]
	// 0 0 0 []
}

func TestBacklogGivesUpWhatIsDropped(t *testing.T) {
	var b watch.Backlog[int]
	for i := range 6 {
		b.Put([]string{"", fmt.Sprint(i)}[i%2], 10, i)
	}
	b.DropFirst(true)
	b.DropFirst(false)
	if removed := b.Remove(func(key string, v int) bool { return v == 2 || key == "5" }); fmt.Sprint(removed) != "[2 5]" {
		t.Error(removed)
	}
	if _, waits := b.Get("1"); waits {
		t.Error("what was dropped waits")
	}
	if v, waits := b.Get("3"); v != 3 || !waits {
		t.Error("what was not dropped does not wait")
	}
	if keyed, others, bytes := b.Size(); keyed != 1 || others != 1 || bytes != 20 {
		t.Error(keyed, others, bytes)
	}
	for range 3 {
		b.DropFirst(true)
	}
	if left := fmt.Sprint(b.Take()); left != "[4]" {
		t.Error(left)
	}
}
