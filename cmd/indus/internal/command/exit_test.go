package command_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/replica/cluster"
)

// A full disk is no usage error: the name of the file is correct.
func TestAFullDiskIsNoUsageError(t *testing.T) {
	for err, want := range map[error]int{
		syscall.ENOSPC: 1, syscall.EDQUOT: 1, syscall.EIO: 1, syscall.EACCES: 2, os.ErrNotExist: 2,
	} {
		if got := command.ExitCode(command.Usagef("%w", &os.PathError{
			Op: "write", Path: "mcp.json", Err: err,
		})); got != want {
			t.Errorf("%v: exit code %d, want %d", err, got, want)
		}
	}
}

// TestExitCodeOfASilentCluster checks that state which cannot be reached is 4 at every step of a start.
func TestExitCodeOfASilentCluster(t *testing.T) {
	silent := fmt.Errorf("NATS: %w", cluster.ErrUnavailable)
	for _, err := range []error{silent, command.AsUsage(silent), command.StateError("keys", silent), fmt.Errorf("serve: %w", silent)} {
		if got := command.ExitCode(err); got != command.ExitUnreachable {
			t.Errorf("%v: exit code %d", err, got)
		}
	}
}
