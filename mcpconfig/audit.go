package mcpconfig

import (
	"fmt"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Audit holds where and how indus serve records requests: the member "audit" of a file. If it is Broken, no request may
// be served.
type Audit struct {
	Setting
	// Path is the absolute path of the audit file.
	Path string
	// MaxSize is the size in bytes at which a new file begins, and MaxAge the age. 0 means the default.
	MaxSize int64
	MaxAge  time.Duration
	// Keep is the number of earlier files that are kept. 0 means all.
	Keep int
	// Continue serves requests also if they cannot be recorded.
	Continue bool
	// Sync writes each record to the disk before the request is answered.
	Sync bool
}

// Equal reports whether a and b have the same settings. File and Line do not count.
func (a *Audit) Equal(b *Audit) bool { return equalSettings(a, b) }

// readAudit reads the member "audit". With a mistake in it, requests would go unrecorded.
func (f *configFile) readAudit(m *hujson.ObjectMember) {
	reason := `"audit" is not heeded: a project's file does not say where indus writes`
	readSetting(f, "audit", m, reason, &f.Audit, func(r *reading, out *Audit) {
		if tree.Has(&m.Value, '"') {
			out.Path = r.path("audit", &m.Value)
		} else {
			r.object("audit", &m.Value, true,
				member{"file", storeIn(&out.Path, r.path)},
				member{"maxSize", storeIn(&out.MaxSize, r.size)},
				member{"maxAge", storeIn(&out.MaxAge, r.age)},
				member{"keep", storeIn(&out.Keep, r.whole(1, maxPooled, "leave it out to keep all files"))},
				member{"onFull", func(field string, v *hujson.Value) {
					out.Continue = r.oneOf("stop", "continue")(field, v) == "continue"
				}},
				member{"sync", storeIn(&out.Sync, r.boolean)},
			)
		}
		if out.Path == "" && r.State != Skipped {
			r.skip(r.offset, `it has no "file"`, `write "audit": "audit.jsonl"`)
		}
	})
}

// sizeUnits are the units of a size, the longest first.
var sizeUnits = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}}

const (
	minAuditSize = 64 << 10 // smaller files would be too many
	maxAuditSize = 1 << 40
)

// size reads a number of bytes, or a text such as "100MB". Any other value makes the part unusable.
func (r *reading) size(field string, v *hujson.Value) int64 {
	var n int64
	ok := false
	if tree.Has(v, '0') {
		var whole int
		whole, ok = wholeNumber(v)
		n = int64(whole)
	} else if tree.Has(v, '"') {
		n, ok = parseSize(tree.Text(*v))
	}
	if !ok || n < minAuditSize || n > maxAuditSize {
		r.skip(v.StartOffset, fmt.Sprintf("%q is no size from 64KiB to 1024GiB", field), `write "100MB"`)
	}
	return n
}

func parseSize(text string) (int64, bool) {
	for _, unit := range sizeUnits {
		digits, ok := strings.CutSuffix(text, unit.name)
		if !ok {
			continue
		}
		digits = strings.TrimSpace(digits)
		var n int64
		for _, c := range digits {
			if c < '0' || c > '9' || n > maxAuditSize {
				return 0, false
			}
			n = 10*n + int64(c-'0')
		}
		return min(n, maxAuditSize+1) * unit.bytes, digits != ""
	}
	return 0, false
}

// age reads a duration of at least a minute, also in days.
func (r *reading) age(field string, v *hujson.Value) time.Duration {
	var d time.Duration
	var err error
	if days, ok := strings.CutSuffix(tree.Text(*v), "d"); ok {
		d, err = time.ParseDuration(days + "h")
		d *= 24
	} else {
		d, err = time.ParseDuration(tree.Text(*v))
	}
	if err != nil || !tree.Has(v, '"') || d < time.Minute || d > 100*365*24*time.Hour {
		r.skip(v.StartOffset, fmt.Sprintf("%q is no duration of a minute or more", field), `write "24h" or "7d"`)
	}
	return d
}

// whole returns a function that reads a whole number. Any other value makes the part unusable.
func (r *reading) whole(minimum, maximum int, hint string) func(field string, v *hujson.Value) int {
	return func(field string, v *hujson.Value) int {
		n, ok := wholeNumber(v)
		if !ok || n < minimum || n > maximum {
			r.skip(v.StartOffset, fmt.Sprintf("%q is no whole number from %d to %d", field, minimum, maximum), hint)
		}
		return n
	}
}

func (r *reading) boolean(field string, v *hujson.Value) bool {
	if !tree.Has(v, 't', 'f') {
		r.skip(v.StartOffset, fmt.Sprintf("%q is %s where true or false is expected", field, tree.KindOf(v.Value)), "")
	}
	return tree.Has(v, 't')
}
