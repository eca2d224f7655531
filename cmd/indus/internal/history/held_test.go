package history_test

import (
	"testing"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/history"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

// A held tool is shown as changed, not as gone.
func TestAHeldToolDidNotGo(t *testing.T) {
	version := func(op ledger.Op, seq uint64, note, description string) ledger.Entry {
		c := &ledger.Capability{
			Server: "fs", Tool: "echo", Wire: toolbox.Wire{JSON: []byte(`{"name":"echo","description":"` + description + `"}`)},
		}
		e := ledger.Entry{
			Op: op, Seq: seq, Run: "1", Server: "fs", Tool: "echo", Name: "fs__echo", Key: "k", Sum: description, Note: note,
			At: time.Unix(int64(seq), 0),
		}
		if op != ledger.Retire {
			e.Capability = c
		}
		return e
	}
	log := []ledger.Entry{
		version(ledger.Enroll, 1, "", "old"), version(ledger.Retire, 2, "held", ""), version(ledger.Hold, 3, "", "new"),
	}
	changes := ledger.Diff(history.LiveTools(log[:1]), history.LiveTools(log))
	if len(changes) != 1 || changes[0].Kind != ledger.Edited || len(changes[0].Fields) != 1 ||
		changes[0].After.Note != "is held back" {
		t.Errorf("%+v", changes)
	}
}
