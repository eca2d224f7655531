package mcpconfig

import (
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
func readAudit(r *valuedRow, v *hujson.Value, out *Audit) {
	if tree.Has(v, '"') {
		out.Path = r.file("audit", v)
	} else {
		r.object("audit", v, true,
			member{"file", storeIn(&out.Path, r.file)},
			member{"maxSize", storeIn(&out.MaxSize, r.size("64KiB", "100MB"))},
			member{"maxAge", storeIn(&out.MaxAge, r.age)},
			member{"keep", storeIn(&out.Keep, r.whole(1, maxPooled, "leave it out to keep all files"))},
			member{"onFull", func(field string, v *hujson.Value) {
				out.Continue = r.oneOf("stop", "continue")(field, v) == "continue"
			}},
			member{"sync", storeIn(&out.Sync, r.boolean)},
		)
	}
	if out.Path == "" && !r.skipped {
		r.skip(r.at, `it has no "file"`, `write "audit": "audit.jsonl"`)
	}
}
