package ledger

import (
	"encoding/json"
	"time"

	"github.com/indusagi/indus/interop"
)

// journal is the part of an attachment that holds the enrolled tools and the descriptions, and writes them to the log.
// The attachment's mu guards it.
type journal struct {
	run, user    string
	config       string // of all servers
	recorder     *recorder
	ledger       Ledger
	servers      map[string]bool // every server that the fleet had
	descriptions map[origin]json.RawMessage
	health       map[string]string // the written note of each server that was lost or never ready
	begun        bool
}

// commit adds a batch to the ledger and sends it to the log.
func (j *journal) commit(batch ...Entry) {
	if len(batch) == 0 {
		return
	}
	var toolEntries []Entry
	for i := range batch {
		batch[i].Run = j.run
		if batch[i].Op == Enroll || batch[i].Op == Retire {
			toolEntries = append(toolEntries, batch[i])
		}
	}
	j.ledger = j.ledger.Append(toolEntries...)
	if n := len(j.ledger.Log()); n > maxLog && n > maxLog+4*len(j.ledger.Snapshot().Live) {
		j.ledger = j.ledger.Compact()
	}
	if !j.begun {
		j.begun = true
		j.recorder.enqueue(Entry{Op: Begin, Run: j.run, Config: j.config, At: batch[0].At, Note: j.user})
	}
	j.recorder.enqueue(batch...)
}

// reload records another configuration. If the run has not begun, its Begin will have the configuration.
func (j *journal) reload(config string) {
	if config == j.config {
		return
	}
	j.config = config
	if j.begun {
		j.commit(Entry{Op: Reload, Config: config, At: time.Now()})
	}
}

// resume records the run again, with its live tools and the recorded ones that are held.
func (j *journal) resume(held []Entry) {
	if !j.begun {
		return
	}
	j.begun = false
	var again []Entry
	for _, e := range j.ledger.Snapshot().Live {
		if e.Run == j.run {
			again = append(again, e)
		}
	}
	again = append(again, held...)
	for i := range again {
		again[i].At = time.Now()
	}
	j.commit(again...)
}

// recordHealth records a change of a server's health, if it is new.
func (j *journal) recordHealth(e interop.Event) {
	previous, down := j.health[e.Server]
	note := noteReady
	switch e.Kind {
	case interop.ServerFaulted:
		if down {
			return
		}
		note = NoteLost
		if e.Status.Fault != nil {
			note += ": " + string(e.Status.Fault.Kind)
		}
		j.health[e.Server] = note
	case interop.ServerReady, interop.ServerRemoved:
		delete(j.health, e.Server)
		if previous == "" || e.Kind == interop.ServerRemoved {
			return
		}
	default:
		return
	}
	j.commit(Entry{Op: Health, Server: e.Server, At: time.Now(), Note: note})
}

// end retires all live tools of the run's servers in the ledger. In the log, the End of the run does this.
func (j *journal) end() {
	now := time.Now()
	var retires []Entry
	for _, e := range j.ledger.Snapshot().Live {
		if j.servers[e.Server] {
			retires = append(retires, e.retired(now, NoteRemoved))
		}
	}
	j.ledger = j.ledger.Append(retires...)
	if j.begun {
		j.recorder.enqueue(Entry{Op: End, Run: j.run, At: now})
	}
}
