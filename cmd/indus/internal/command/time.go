package command

import (
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// timeFormats lists the accepted formats of times. A time without a zone is local.
var timeFormats = []string{
	time.RFC3339, "2006-01-02T15:04:05", show.TimeFormat, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02",
}

// TimesHelp is for commands that take times.
const TimesHelp = `
Times:
  2h, 30m, 3d        that long ago
  2026-07-28 15:04   with seconds if you like, or without the hour
  RFC 3339           2026-07-28T15:04:05Z`

// ParseTime parses a time, or a duration before now.
func ParseTime(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "now" {
		return now, nil
	}
	if d, ok := show.ParseDuration(text); ok {
		return now.Add(-d), nil
	}
	for _, layout := range timeFormats {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, Usagef(`%q is no time: write how long ago, such as 2h or 3d, or "2006-01-02 15:04"`, text)
}

// EndOfSecond returns the end of the second that t names. Entries have milliseconds, and are shown to the second.
func EndOfSecond(t time.Time) time.Time {
	if t.Nanosecond() != 0 {
		return t
	}
	return t.Add(time.Second - time.Nanosecond)
}
