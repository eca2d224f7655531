package atomicfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/indusagi/indus/internal/atomicfile"
)

// TestASecretOfKubernetes reads files of root as another user in their group.
func TestASecretOfKubernetes(t *testing.T) {
	const group = 65532
	if path := os.Getenv("TEST_SECRET"); path != "" {
		if _, err := atomicfile.ReadPrivate(path, 10); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(3)
		}
		os.Exit(0)
	}
	if os.Getuid() != 0 {
		t.Skip("only root can make a file of root")
	}
	for mode, isRead := range map[os.FileMode]bool{0o440: true, 0o640: true, 0o660: false, 0o444: false} {
		dir, err := os.MkdirTemp("/tmp", "secret")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		path, program := filepath.Join(dir, "keys"), filepath.Join(dir, "test")
		self, err := os.ReadFile("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		for _, failed := range []error{
			os.Chmod(dir, 0o755), os.WriteFile(program, self, 0o755), os.WriteFile(path, []byte("x"), 0o600),
			os.Chown(path, 0, group), os.Chmod(path, mode),
		} {
			if failed != nil {
				t.Fatal(failed)
			}
		}
		cmd := exec.Command(program, "-test.run", "^TestASecretOfKubernetes$")
		cmd.Env, cmd.Dir = append(os.Environ(), "TEST_SECRET="+path), "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: group, Gid: group}}
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); isRead && err != nil || !isRead && code != 3 {
			t.Errorf("mode %04o: %v\n%s", mode, err, out)
		}
	}
}
