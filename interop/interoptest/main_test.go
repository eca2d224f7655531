package interoptest_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// serveVariable makes this test program a stdio server.
const serveVariable = "INTEROPTEST_SERVE"

// TestMain looks, after all tests, for goroutines and child processes that are left.
func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) != "" {
		if err := serveStdio(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	fixture.Main(m)
}
