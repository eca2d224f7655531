package attack_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/indusagi/indus/internal/box"
	"github.com/indusagi/indus/internal/box/attack"
	"github.com/indusagi/indus/internal/box/broker"
)

const insideVariable = "INDUS_BOX_ATTACK"

func TestMain(m *testing.M) {
	if os.Getenv(insideVariable) != "" {
		attack.Inside(os.Stdout)
		return
	}
	goleak.VerifyTestMain(m)
}

// elsewhere are the attacks that a process of this machine may not make in any case: they need root, hardware, a
// terminal or another kernel.
const elsewhere = `read-handle proc-stack signal-parent parent-environ parent-mem parent-maps parent-auxv parent-stack
	parent-io unshare clone-namespace mount fsopen open-tree chroot keyring add-key bpf perf userfaultfd io-uring
	fanotify kcmp terminal future x32 int80 setuid source-route raw ping sctp vsock packet alg bluetooth mptcp tcp6
	message-queue prlimit`

// TestEveryAttackCanSucceed runs the attacks without a sandbox.
func TestEveryAttackCanSucceed(t *testing.T) {
	results, err := attack.RunFree([]string{os.Args[0]}, boxed(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Outcome == attack.Denied && !slices.Contains(strings.Fields(elsewhere), r.Name) {
			t.Errorf("%s (%s): %s", r.Name, r.What, r.Detail)
		}
	}
}

// boxed returns a sandbox, and makes this program attack from its inside.
func boxed(t *testing.T) *box.Box {
	t.Setenv(insideVariable, "1")
	b := &box.Box{Broker: func(writable []string) (box.Broker, error) {
		return broker.New(broker.Rules{Write: writable}, nil)
	}}
	if os.Geteuid() == 0 {
		b.User = "65534"
	}
	return b
}

func TestNothingIsReachedButTheListedLimits(t *testing.T) {
	results, err := attack.Run([]string{os.Args[0]}, boxed(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if !r.Passed() {
			t.Errorf("%s (%s): %s %s", r.Name, r.What, r.Outcome, r.Detail)
		} else {
			t.Logf("%-20s %-8s %s", r.Name, r.Outcome, r.Detail)
		}
	}
}
