package conn

import (
	"fmt"
	"testing"

	"github.com/indusagi/indus/internal/protocol"
)

// Many log messages do not displace changes, and many changes do not displace log messages.
func TestChangesAreNotLostForLogs(t *testing.T) {
	var b backlog
	update := func(i int) Message {
		return Message{Method: protocol.NoteResourceUpdated, Params: fmt.Appendf(nil, `{"uri":"a:%d"}`, i)}
	}
	for i := range 4000 {
		b.put(update(i % 2000)) // each twice
		b.put(Message{Method: protocol.NoteMessage, Params: fmt.Appendf(nil, `{"data":%d}`, i)})
		b.put(Message{Method: protocol.NotePromptsChanged})
	}
	got := map[string]int{}
	for _, m := range b.Take() {
		got[m.Method]++
	}
	want := map[string]int{protocol.NoteResourceUpdated: 2000, protocol.NoteMessage: maxQueued, protocol.NotePromptsChanged: 1}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, not %v", got, want)
	}
	for i := range 20_000 {
		b.put(update(i))
	}
	if n := len(b.Take()); n != maxChanges {
		t.Errorf("%d changes wait", n)
	}
	for range 20 {
		b.put(Message{Method: protocol.NoteMessage, Params: make([]byte, 1<<20)})
	}
	b.put(update(1))
	if n := len(b.Take()); n != 8 {
		t.Errorf("%d of a mebibyte wait, one aside", n)
	}
}
