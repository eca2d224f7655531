package payload

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A task runs until its server reports its end, or until the time that the server has given for
// it is over.
func TestTasksThatGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Tasks
		for _, step := range []struct {
			obj  string
			wait time.Duration
			want bool
		}{
			{`{"content":[]}`, 0, false},
			{`{"task":{"taskId":"a","status":"working","ttl":60000}}`, 0, true},
			{`{"resultType":"task","taskId":"b","status":"working","ttlMs":120000}`, time.Minute + 1, true},
			{`{"taskId":"b","status":"input_required","ttlMs":120000}`, 2*time.Minute - 1, true},
			{`{"taskId":"b","status":"completed"}`, 0, false},
			{`{"task":{"taskId":"c","status":"working","ttl":null}}`, taskTime, true},
			{`{}`, 1, false},
			{`{"task":{"taskId":"d","status":"working","ttl":9e99}}`, 0, true},
			{`{"task":{"taskId":"d","status":"cancelled"}}`, 0, false},
			{`{"task":{"taskId":7,"status":"working"}}`, 0, false},
			{`"taskId"`, 0, false},
		} {
			l.Record(json.RawMessage(step.obj))
			time.Sleep(step.wait)
			if got := l.HasRunning(); got != step.want {
				t.Errorf("after %s: %v", step.obj, got)
			}
		}
		for i := range 2 * maxTasks {
			l.Record(fmt.Appendf(nil, `{"taskId":"%d","status":"working"}`, i))
		}
		if n := len(l.expiry); n != maxTasks {
			t.Errorf("%d are kept", n)
		}
	})
}
