package interop

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
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

// tasks holds the running tasks of a server by id, with the assumed time of their end.
type tasks struct {
	mu     sync.Mutex
	expiry map[string]time.Time
}

// record reads a result, or the params of a notification, that may be a task. In 2025-11-25 (SEP-1686) the
// task is the member "task". In the extension (SEP-2663) it is the object itself.
func (t *tasks) record(obj json.RawMessage) {
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

// hasRunning reports whether a task is running.
func (t *tasks) hasRunning() bool {
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

// recordTasks records tasks from the results of requests, if the server can become idle.
func (m *member) recordTasks(method string, result json.RawMessage) {
	if method != protocol.MethodToolsCall && !strings.HasPrefix(method, "tasks/") {
		return
	}
	if _, after := m.idleSettings(m.state.Load().config); after > 0 {
		m.tasks.record(result)
	}
}
