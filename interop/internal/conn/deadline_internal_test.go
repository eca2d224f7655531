package conn

import (
	"testing"
	"testing/synctest"
	"time"
)

// A question to a person may take longer than a server may be silent, but not longer
// than a call.
func TestAQuestionHoldsTheSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, d := WithCallDeadlines(t.Context(), time.Second, time.Minute)
		defer d.Stop()
		first, second := d.Pause(), d.Pause()
		time.Sleep(10 * time.Second)
		first()
		d.Reset()
		time.Sleep(10 * time.Second)
		if ctx.Err() != nil {
			t.Fatal("the call is over while a question is open")
		}
		second()
		time.Sleep(900 * time.Millisecond)
		if ctx.Err() != nil {
			t.Error("the call is over too soon after the answer")
		}
		time.Sleep(200 * time.Millisecond)
		if ctx.Err() == nil {
			t.Error("the call goes on without a sign of life")
		}

		ctx, d = WithCallDeadlines(t.Context(), time.Second, time.Minute)
		release := d.Pause()
		time.Sleep(61 * time.Second)
		if ctx.Err() == nil {
			t.Error("an open question outlives the call")
		}
		d.Stop()
		release()
	})
}
