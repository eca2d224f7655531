package payload

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

const (
	// maxTasks bounds the known tasks of one server.
	maxTasks = 1000
	// taskTime is the assumed life of a task if the server gives none. maxTaskTime is the longest life that
	// a server can give. A task that no client ever requests again must not keep its server connected
	// forever.
	taskTime    = time.Hour
	maxTaskTime = 24 * time.Hour
)

// Tasks holds the running tasks of a server by id, with the assumed time of their end.
type Tasks struct {
	mu     sync.Mutex
	expiry map[string]time.Time
}

// Record reads a result, or the params of a notification, that may be a task. In 2025-11-25 (SEP-1686) the
// task is the member "task". In the extension (SEP-2663) it is the object itself.
func (t *Tasks) Record(obj json.RawMessage) {
	if !bytes.Contains(obj, []byte(`"taskId"`)) {
		return
	}
	if task, ok := wire.Lookup(obj, "task"); ok {
		obj = task
	}
	id, ok := protocol.LookupString(obj, "taskId")
	status, hasStatus := protocol.LookupString(obj, "status")
	if !ok || !hasStatus || len(id) > maxTaskID {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch status {
	case "completed", "failed", "cancelled":
		delete(t.expiry, id)
		return
	}
	if t.expiry == nil {
		t.expiry = map[string]time.Time{}
	}
	if _, known := t.expiry[id]; known || len(t.expiry) < maxTasks {
		t.expiry[id] = time.Now().Add(taskLife(obj))
	}
}

// maxTaskID bounds the ids that are kept, in bytes.
const maxTaskID = 1 << 10

// taskLife returns how long a server keeps a task.
func taskLife(task json.RawMessage) time.Duration {
	for _, key := range [...]string{"ttlMs", "ttl"} {
		value, _ := wire.Lookup(task, key)
		if ms, err := strconv.ParseInt(string(value), 10, 64); err == nil && ms > 0 {
			return time.Duration(min(ms, maxTaskTime.Milliseconds())) * time.Millisecond
		}
	}
	return taskTime
}

// HasRunning reports whether a task is running.
func (t *Tasks) HasRunning() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for id, end := range t.expiry {
		if now.After(end) {
			delete(t.expiry, id)
		}
	}
	return len(t.expiry) > 0
}
