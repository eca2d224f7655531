package mcpconfig

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

// Cluster holds where several indus serve keep the state that they share: the member "cluster" of a file.
type Cluster struct {
	Setting
	// NATS are the URLs of the servers, with commas between them.
	NATS string
	// CredsFile and CA are absolute paths of files. "" means that there is none.
	CredsFile, CA string
	// Name is the prefix of streams and subjects. "" means the default.
	Name string
	// Replicas is the number of replicas of each stream. Zero means the default.
	Replicas int
	// Monitor are the URLs of the monitors of the servers. "" means that there are none.
	Monitor string
	// Lease is how long a process that does not answer counts as present. Zero means the default.
	Lease time.Duration
}

const (
	minClusterLease = 2 * time.Second
	maxClusterLease = time.Hour
	maxReplicas     = 5
)

// readCluster reads the member "cluster".
func readCluster(r *valuedRow, v *hujson.Value, out *Cluster) {
	r.object("cluster", v, true,
		member{"nats", storeIn(&out.NATS, r.urls("nats", "tls"))},
		member{"credsFile", storeIn(&out.CredsFile, r.file)},
		member{"tls", func(field string, v *hujson.Value) {
			r.object(field, v, true, member{"ca", storeIn(&out.CA, r.file)})
		}},
		member{"name", storeIn(&out.Name, r.value)},
		member{"replicas", storeIn(&out.Replicas, r.whole(1, maxReplicas, ""))},
		member{"monitor", storeIn(&out.Monitor, r.urls("http", "https"))},
		member{"lease", func(field string, v *hujson.Value) {
			var err error
			out.Lease, err = time.ParseDuration(r.value(field, v))
			if err != nil || out.Lease < minClusterLease || out.Lease > maxClusterLease {
				r.skip(v.StartOffset, fmt.Sprintf("%q is no duration from 2s to 1h", field), `write "10s"`)
			}
		}},
	)
	if !r.skipped && out.NATS == "" {
		r.skip(r.at, `it has no "nats"`, `write "nats": "nats://HOST:4222"`)
	}
}

// urls returns a function that reads URLs of some schemes, with commas between them.
func (r *valuedRow) urls(schemes ...string) func(field string, v *hujson.Value) string {
	return func(field string, v *hujson.Value) string {
		all := r.value(field, v)
		for text := range strings.SplitSeq(all, ",") {
			u, err := url.Parse(strings.TrimSpace(text))
			if (err != nil || u.Host == "" || u.Scheme != schemes[0] && u.Scheme != schemes[1]) && !r.skipped {
				r.skip(v.StartOffset, fmt.Sprintf("%q is no URL of %s://", field, strings.Join(schemes, ":// or ")), "")
			}
		}
		return all
	}
}
