package cli

import (
	"strconv"
	"strings"
	"time"
)

// stamp is how times are shown, in the zone of who looks.
const stamp = "2006-01-02 15:04:05"

// stamps are the ways to write a time; those without a zone are local.
var stamps = []string{time.RFC3339, "2006-01-02T15:04:05", stamp, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"}

const momentHelp = `
Times:
  2h, 30m, 3d        that long ago
  2026-07-28 15:04   with seconds if you like, or without the hour
  RFC 3339           2026-07-28T15:04:05Z`

// moment reads a time, or how long ago it was.
func moment(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "now" {
		return now, nil
	}
	if d, ok := ago(text); ok {
		return now.Add(-d), nil
	}
	for _, layout := range stamps {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usage(`%q is no time: write how long ago, such as 2h or 3d, or "2006-01-02 15:04"`, text)
}

// ago is a duration, in days too.
func ago(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		const most = 100 * 366 // and a Duration holds it
		return time.Duration(n * 24 * float64(time.Hour)), err == nil && n >= 0 && n <= most
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}

// whole is a time that somebody typed, with all of the second that it names:
// entries are stamped to the millisecond, and shown to the second.
func whole(t time.Time) time.Time {
	if t.Nanosecond() != 0 {
		return t
	}
	return t.Add(time.Second - time.Nanosecond)
}
