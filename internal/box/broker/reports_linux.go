package broker

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/text"
)

const (
	// reportInterval is the time after which the same denial is reported again.
	reportInterval = time.Minute
	// maxReports limits the remembered denials. A process can ask for any number of targets.
	maxReports = 1024
	// maxTarget limits the length of a target.
	maxTarget = 300
)

// reports passes denials on, each target once in an interval.
type reports struct {
	denied func(Denial)
	mu     sync.Mutex
	seen   map[[2]string]time.Time
}

func (r *reports) add(d Denial) {
	d.Target = text.Clip(text.OneLine(d.Target), maxTarget)
	d.Time = time.Now()
	if r.denied != nil && r.isNew(d) {
		r.denied(d)
	}
}

// isNew reports whether a denial was not reported lately. If too many are remembered, no other one is new until some of
// them are old.
func (r *reports) isNew(d Denial) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := [2]string{d.What, d.Target}
	if last, ok := r.seen[key]; ok && d.Time.Sub(last) < reportInterval {
		return false
	}
	if len(r.seen) >= maxReports {
		for key, last := range r.seen {
			if d.Time.Sub(last) >= reportInterval {
				delete(r.seen, key)
			}
		}
	}
	if len(r.seen) >= maxReports {
		return false
	}
	if r.seen == nil {
		r.seen = map[[2]string]time.Time{}
	}
	r.seen[key] = d.Time
	return true
}

// programOf returns the name of the program that a thread runs.
func programOf(tid int) string {
	path, err := os.Readlink("/proc/" + strconv.Itoa(tid) + "/exe")
	if err != nil {
		return ""
	}
	return text.Clip(text.OneLine(filepath.Base(strings.TrimSuffix(path, " (deleted)"))), maxTarget)
}
