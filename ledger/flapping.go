package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// flapFree is how many losses of a server are recorded before what comes of them is held
	// back from the log; each flapCalm without a loss forgives one.
	flapFree = 8
	flapCalm = time.Hour
	// flapFirst is for how long it is held back. The time doubles with each loss, flapMost
	// times, up to about an hour.
	flapFirst = time.Minute
	flapMost  = 6
)

// flapping is a server that is lost again and again. What is lost and back as it was, while
// entries are held back, is counted and not written: so the log of a server that crashes
// every second grows by a few entries an hour. New versions of tools are never held back.
type flapping struct {
	n     int       // losses that were recorded and are not forgiven
	last  time.Time // the last loss, recorded or not
	until time.Time // until then losses are held back
	held  []heldBack
	count int       // losses that came to nothing
	since time.Time // the first of them
	timer *time.Timer
}

// heldBack is an entry that is not in the log yet; of a Retire with what it retires.
type heldBack struct{ entry, live Entry }

// thinned is what of a batch is to be written now. was is the ledger before it. Call it
// with mu held.
func (a *Attachment) thinned(batch []Entry, was Ledger) []Entry {
	var out []Entry
	for _, e := range batch {
		f := a.flaps[e.Server]
		switch {
		case e.Server == "":
			out = append(out, e)
			continue
		case f == nil:
			f = &flapping{}
			a.flaps[e.Server] = f
		}
		switch {
		case f.restores(e):
		case isLoss(e):
			if f.loss(e.At) {
				out = append(out, e)
				continue
			}
			f.held = append(f.held, heldBack{e, was.live(e.Key)})
		default: // what is held back of a tool goes before what is written of it
			if e.Tool != "" {
				out = append(out, f.release(func(h Entry) bool { return h.Tool == e.Tool })...)
			}
			out = append(out, e)
			continue
		}
		a.schedule(e.Server, f)
	}
	return out
}

// isLoss reports whether an entry says that a server, or a tool of it, is gone for now.
func isLoss(e Entry) bool {
	return e.Op == Health && strings.HasPrefix(e.Note, NoteLost) || e.Op == Retire && (e.Note == NoteLost || e.Note == noteUnlisted)
}

// live is what is live under a key; zero where nothing is.
func (l Ledger) live(key Key) (live Entry) {
	if i := slices.IndexFunc(l.snapshot.Live, func(e Entry) bool { return e.Key == key }); i >= 0 {
		live = l.snapshot.Live[i]
	}
	return live
}

// loss reports whether a loss is recorded at once. What is lost at one moment is one loss.
func (f *flapping) loss(at time.Time) bool {
	f.n -= min(f.n, int(at.Sub(f.last)/flapCalm))
	if at.Before(f.until) && !at.Equal(f.last) || len(f.held) > 0 {
		f.last = at
		return false
	}
	if !at.Equal(f.last) {
		f.recorded(at)
	}
	return true
}

// recorded counts a loss that is written, after which others are held back.
func (f *flapping) recorded(at time.Time) {
	f.last = at
	if f.n = min(f.n, flapFree+flapMost) + 1; f.n > flapFree {
		f.until = at.Add(flapFirst << (f.n - flapFree - 1))
	}
}

// restores reports whether an entry undoes one that is held back: then neither is written.
func (f *flapping) restores(e Entry) bool {
	i := slices.IndexFunc(f.held, func(h heldBack) bool {
		switch {
		case e.Op != h.entry.Op && e.Op == Enroll:
			return h.entry.Op == Retire && h.live.Key == e.Key && h.live.Sum == e.Sum && h.live.Name == e.Name &&
				h.live.Tool == e.Tool && h.live.Config == e.Config && h.live.Changed == e.Changed
		case e.Op == Health && !isLoss(e):
			return h.entry.Op == Health
		}
		return false
	})
	if i < 0 {
		return false
	}
	if e.Op == Health {
		if f.count++; f.count == 1 {
			f.since = f.held[i].entry.At
		}
	}
	f.held = slices.Delete(f.held, i, i+1)
	return true
}

// release is those that were held back and are to be written.
func (f *flapping) release(which func(Entry) bool) (out []Entry) {
	f.held = slices.DeleteFunc(f.held, func(h heldBack) bool {
		if !which(h.entry) {
			return false
		}
		if h.entry.Op == Health {
			h.entry.Note += f.tally()
		}
		out = append(out, h.entry)
		return true
	})
	return out
}

func everything(Entry) bool { return true }

// tally is what came to nothing, in words, and counts anew.
func (f *flapping) tally() string {
	if f.count == 0 {
		return ""
	}
	text := fmt.Sprintf("; lost and back %d times since %s", f.count, f.since.UTC().Format(time.RFC3339))
	f.count = 0
	return text
}

// schedule writes what is still true of a server when the time is over for which it is held
// back. Call it with mu held.
func (a *Attachment) schedule(server string, f *flapping) {
	if f.timer != nil {
		return
	}
	f.timer = time.AfterFunc(time.Until(f.until), func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		f.timer = nil
		if a.closed || a.flaps[server] != f {
			return
		}
		now := time.Now()
		late := f.release(everything)
		if f.count > 0 { // it is up
			late = append(late, Entry{Op: Health, Server: server, Run: a.Run, At: now, Note: noteReady + f.tally()})
		}
		if len(late) > 0 {
			last := f.last
			f.recorded(now)
			f.last = last
			a.recorder.put(late...)
		}
	})
}

// calm writes all that is held back. Call it with mu held.
func (a *Attachment) calm() {
	for _, f := range a.flaps {
		if f.timer != nil {
			f.timer.Stop()
		}
		a.recorder.put(f.release(everything)...)
	}
}
