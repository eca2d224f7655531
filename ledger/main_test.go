package ledger_test

import (
	"os"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		writer(path)
		return
	}
	fixture.Main(m)
}
