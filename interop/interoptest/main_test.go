package interoptest_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// serveVariable is the environment variable that makes this test program a stdio
// server.
const serveVariable = "INTEROPTEST_SERVE"

// TestMain checks after all tests that no goroutines and child processes are left.
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
