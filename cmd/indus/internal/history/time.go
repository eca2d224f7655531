package history

import (
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// timeFormats are the ways to write a time; those without a zone are local.
var timeFormats = []string{time.RFC3339, "2006-01-02T15:04:05", show.TimeFormat, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"}

// timesHelp is for commands that take times.
const timesHelp = `
Times:
  2h, 30m, 3d        that long ago
  2026-07-28 15:04   with seconds if you like, or without the hour
  RFC 3339           2026-07-28T15:04:05Z`

// parseTime reads a time, or how long ago it was.
func parseTime(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "now" {
		return now, nil
	}
	if d, ok := parseAgo(text); ok {
		return now.Add(-d), nil
	}
	for _, layout := range timeFormats {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, command.Usagef(`%q is no time: write how long ago, such as 2h or 3d, or "2006-01-02 15:04"`, text)
}

// parseAgo is a duration, in days too.
func parseAgo(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		const most = 100 * 366 // and a Duration holds it
		return time.Duration(n * 24 * float64(time.Hour)), err == nil && n >= 0 && n <= most
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}

// endOfSecond is a time that somebody typed, with all of the second that it names:
// entries are stamped to the millisecond, and shown to the second.
func endOfSecond(t time.Time) time.Time {
	if t.Nanosecond() != 0 {
		return t
	}
	return t.Add(time.Second - time.Nanosecond)
}
