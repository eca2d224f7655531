package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// dampAfter is how many losses of a server are recorded before its log is damped;
	// each dampDecay without a loss forgives one.
	dampAfter = 8
	dampDecay = time.Hour
	// dampFirst is for how long it is damped. The time doubles with each loss, dampDoubles
	// times, up to about an hour.
	dampFirst   = time.Minute
	dampDoubles = 6
)

// damper is the flap damping of one server's log. What is lost and back as it was, while
// it is damped, is counted and not written: so the log of a server that crashes
// every second grows by a few entries an hour. New versions of tools are never held back.
type damper struct {
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

// damped is what of a batch is to be written now. was is the ledger before it. Call it
// with mu held.
func (a *Attachment) damped(batch []Entry, was Ledger) []Entry {
	var out []Entry
	for _, e := range batch {
		d := a.dampers[e.Server]
		switch {
		case e.Server == "":
			out = append(out, e)
			continue
		case d == nil:
			d = &damper{}
			a.dampers[e.Server] = d
		}
		switch {
		case d.restores(e):
		case isLoss(e):
			if d.loss(e.At) {
				out = append(out, e)
				continue
			}
			d.held = append(d.held, heldBack{e, was.live(e.Key)})
		default: // what is held back of a tool goes before what is written of it
			if e.Tool != "" {
				out = append(out, d.release(e.Tool)...)
			}
			out = append(out, e)
			continue
		}
		a.schedule(e.Server, d)
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
func (d *damper) loss(at time.Time) bool {
	d.n -= min(d.n, int(at.Sub(d.last)/dampDecay))
	if at.Before(d.until) && !at.Equal(d.last) || len(d.held) > 0 {
		d.last = at
		return false
	}
	if !at.Equal(d.last) {
		d.recorded(at)
	}
	return true
}

// recorded counts a loss that is written, after which others are held back.
func (d *damper) recorded(at time.Time) {
	d.last = at
	if d.n = min(d.n, dampAfter+dampDoubles) + 1; d.n > dampAfter {
		d.until = at.Add(dampFirst << (d.n - dampAfter - 1))
	}
}

// restores reports whether an entry undoes one that is held back: then neither is written.
func (d *damper) restores(e Entry) bool {
	i := slices.IndexFunc(d.held, func(h heldBack) bool {
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
		if d.count++; d.count == 1 {
			d.since = d.held[i].entry.At
		}
	}
	d.held = slices.Delete(d.held, i, i+1)
	return true
}

// release is those that were held back and are to be written: of a tool, or all for "".
func (d *damper) release(tool string) (out []Entry) {
	d.held = slices.DeleteFunc(d.held, func(h heldBack) bool {
		if tool != "" && h.entry.Tool != tool {
			return false
		}
		if h.entry.Op == Health {
			h.entry.Note += d.tally()
		}
		out = append(out, h.entry)
		return true
	})
	return out
}

// tally is what came to nothing, in words, and counts anew.
func (d *damper) tally() string {
	if d.count == 0 {
		return ""
	}
	text := fmt.Sprintf("; lost and back %d times since %s", d.count, d.since.UTC().Format(time.RFC3339))
	d.count = 0
	return text
}

// schedule writes what is still true of a server when the time is over for which it is held
// back. Call it with mu held.
func (a *Attachment) schedule(server string, d *damper) {
	if d.timer != nil {
		return
	}
	d.timer = time.AfterFunc(time.Until(d.until), func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		d.timer = nil
		if a.closed || a.dampers[server] != d {
			return
		}
		now := time.Now()
		late := d.release("")
		if d.count > 0 { // it is up
			late = append(late, Entry{Op: Health, Server: server, Run: a.Run, At: now, Note: noteReady + d.tally()})
		}
		if len(late) > 0 {
			last := d.last
			d.recorded(now)
			d.last = last
			a.recorder.put(late...)
		}
	})
}

// undamp writes all that is held back. Call it with mu held.
func (a *Attachment) undamp() {
	for _, d := range a.dampers {
		if d.timer != nil {
			d.timer.Stop()
		}
		a.recorder.put(d.release("")...)
	}
}
