package nats_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/replica/cluster/nats"
)

// A step without an answer in time does not mean that the servers cannot be reached: they may be busy.
func TestALateAnswerIsNamed(t *testing.T) {
	err := nats.Fault(context.DeadlineExceeded)
	if !errors.Is(err, cluster.ErrUnavailable) || strings.Contains(err.Error(), "reached") ||
		!strings.Contains(err.Error(), "did not answer in time: ask again") {
		t.Error(err)
	}
}
