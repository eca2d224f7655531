package box_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/indusagi/indus/internal/box/attack"
)

// insideVariable makes this program attack from the inside of a sandbox.
const insideVariable = "INDUS_BOX_ATTACK"

func TestMain(m *testing.M) {
	if os.Getenv(insideVariable) != "" {
		attack.Inside(os.Stdout)
		return
	}
	goleak.VerifyTestMain(m)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
