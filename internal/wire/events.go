package wire

import (
	"bytes"
	"io"
	"math"

	"github.com/indusagi/indus/internal/memory"
)

// Event is one Server-Sent Event.
type Event struct {
	Name  string // "message" unless the event names another
	ID    string // the stream's last event id so far, including this event
	Data  []byte // the data lines joined by LF; nil if there was none
	Retry int    // milliseconds; -1 if absent
}

// Events reads a stream of Server-Sent Events as in the WHATWG's HTML standard (section 9.2.6),
// with two exceptions. Invalid UTF-8 is kept. And an event without data is returned if it has an id
// or a retry, because an MCP server uses it to start a stream (2025-11-25, basic/transports).
type Events struct {
	// AtOnce makes Next return a [TooLong] as soon as an event passes the limit, instead of at its
	// end. It is for a stream with a single response, which is not read further.
	AtOnce bool

	feed      feed
	collected collector
	lastID    string
	started   bool
}

// NewEvents returns a reader of events with up to max bytes of data. It reads ahead.
func NewEvents(r io.Reader, max int) *Events {
	return &Events{feed: feed{src: r, cr: true}, collected: collector{limit: max}}
}

// Within makes the messages take their bytes from a budget. Call it before the first Next.
func (e *Events) Within(b *memory.Budget) *Events {
	e.collected.meter.Budget = b
	return e
}

// Next returns the next event as soon as the empty line after it has been read. The caller owns its
// data. If an event has more data than the limit, Next returns the event without data and a
// [TooLong], and the next call continues after it. A line of 64 KiB or more for another field is
// ignored. At the end of the stream an unterminated event is discarded. Errors of the stream are
// final.
func (e *Events) Next() (Event, error) {
	defer e.feed.shrink()
	ev := Event{Name: "message", Retry: -1}
	var data, seen bool // data: a data field; seen: an id or retry field
	for {
		line, end, err := e.feed.fragment()
		if err != nil {
			e.collected.drop()
			return Event{}, err
		}
		if !e.started {
			e.started = true
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if end && len(line) == 0 {
			if data || seen {
				return e.dispatch(ev, data)
			}
			ev.Name = "message"
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		if string(field) == "data" {
			if data {
				e.collected.add([]byte("\n"))
			}
			data = true
			e.collected.add(value)
			if err := e.earlyError(); err != nil {
				return Event{}, err
			}
		} else if end {
			seen = e.set(&ev, string(field), value) || seen
		}
		if !end {
			if err := e.finishLine(string(field) == "data"); err != nil {
				return Event{}, err
			}
		}
	}
}

// finishLine reads the rest of a long line.
func (e *Events) finishLine(data bool) error {
	for {
		p, end, err := e.feed.fragment()
		if err != nil {
			e.collected.drop()
			return err
		}
		if data {
			e.collected.add(p)
			if err := e.earlyError(); err != nil {
				return err
			}
		}
		if end {
			return nil
		}
	}
}

// earlyError returns the error of an event that is refused before its end.
func (e *Events) earlyError() error {
	if !e.AtOnce || e.collected.tooLong == nil {
		return nil
	}
	_, err := e.collected.take()
	return err
}

// set sets a field other than data and reports whether the event must be returned because of it.
func (e *Events) set(ev *Event, field string, value []byte) bool {
	switch field {
	case "event":
		ev.Name = string(value)
		if ev.Name == "" {
			ev.Name = "message"
		}
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			e.lastID = string(value)
			return true
		}
	case "retry":
		if n, ok := decimal(value); ok {
			ev.Retry = n
			return true
		}
	}
	return false
}

// dispatch completes an event.
func (e *Events) dispatch(ev Event, data bool) (Event, error) {
	ev.ID = e.lastID
	if !data {
		return ev, nil
	}
	var err error
	ev.Data, err = e.collected.take()
	return ev, err
}

// decimal reads digits. Larger values become math.MaxInt32, in milliseconds about 24 days.
func decimal(b []byte) (int, bool) {
	n := int64(0)
	for _, c := range b {
		if c-'0' >= 10 {
			return 0, false
		}
		n = min(n*10+int64(c-'0'), math.MaxInt32)
	}
	return int(n), len(b) > 0
}
