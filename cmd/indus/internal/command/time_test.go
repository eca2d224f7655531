package command_test

import (
	"testing"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
)

func TestMoments(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("here", 2*3600)
	now := time.Date(2026, 7, 28, 15, 4, 5, 600e6, zone)
	for text, want := range map[string]string{
		"now": "2026-07-28T15:04:05+02:00", "2h": "2026-07-28T13:04:05+02:00", "90m": "2026-07-28T13:34:05+02:00",
		"1.5d": "2026-07-27T03:04:05+02:00",
		"0":    "2026-07-28T15:04:05+02:00", "2026-07-01": "2026-07-01T00:00:00+02:00",
		"2026-07-01 08:09":      "2026-07-01T08:09:00+02:00",
		" 2026-07-01T08:09:10 ": "2026-07-01T08:09:10+02:00", "2026-07-01T08:09:10Z": "2026-07-01T08:09:10Z",
	} {
		if got, err := command.ParseTime(text, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q is %v, %v, and not %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-2h", "yesterday", "1e300d", "NaNd", "d", "2026-13-01", "+Infd"} {
		if got, err := command.ParseTime(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
