package sealed_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/sealed"
)

// TestATokenNamesItsReplica checks that state is accepted by the replica that made it and by no other, and that the
// others learn its owner.
func TestATokenNamesItsReplica(t *testing.T) {
	alone := sealed.Random()
	a, b := alone.For("a"), alone.For("b")
	for kind := sealed.Session; kind <= sealed.Visit; kind++ {
		text := a.Seal(sealed.Token{Kind: kind, Principal: "alice"})
		want := sealed.Want{Kind: kind, Principal: "alice"}
		held := kind != sealed.Cursor && kind != sealed.Store
		if _, err := a.Open(text, want); err != nil {
			t.Errorf("kind %d: its own replica: %v", kind, err)
		}
		if _, err := b.Open(text, want); errors.Is(err, sealed.ErrReplica) != held || !held && err != nil {
			t.Errorf("kind %d: another replica: %v", kind, err)
		}
		if _, err := alone.Open(text, want); err != nil {
			t.Errorf("kind %d: without replicas: %v", kind, err)
		}
		if _, elsewhere := a.Elsewhere(text, "alice"); elsewhere {
			t.Errorf("kind %d: its own replica looks elsewhere", kind)
		}
		if owned, elsewhere := b.Elsewhere(text, "alice"); elsewhere != held || held && (owned.Replica != "a" || owned.Kind != kind) {
			t.Errorf("kind %d: %+v, %v", kind, owned, elsewhere)
		}
		if _, elsewhere := b.Elsewhere(text, "bob"); elsewhere {
			t.Errorf("kind %d: another principal learns the replica", kind)
		}
	}
}

// TestATokenWithoutAReplicaHasNoOwner checks the tokens of a process from before it was a replica.
func TestATokenWithoutAReplicaHasNoOwner(t *testing.T) {
	keys := sealed.Random()
	a := keys.For("a")
	text := keys.Seal(sealed.Token{Kind: sealed.RequestState})
	if _, err := a.Open(text, sealed.Want{Kind: sealed.RequestState}); !errors.Is(err, sealed.ErrReplica) {
		t.Error(err)
	}
	if owned, elsewhere := a.Elsewhere(text, ""); elsewhere {
		t.Errorf("%+v", owned)
	}
	late := keys.For("b").Seal(sealed.Token{Kind: sealed.RequestState, Expires: time.Now().Add(-time.Second)})
	if _, elsewhere := a.Elsewhere(late, ""); !elsewhere {
		t.Error("the clock of another replica ends a token")
	}
}

func TestKeysForAReplicaAreReread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	keys, err := sealed.KeyFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	a := keys.For("a")
	text := a.Seal(sealed.Token{Kind: sealed.Session})
	if err := os.WriteFile(path, []byte(sealed.NewKeyText()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, isChanged := range []bool{true, false} {
		if changed, err := keys.Reread(path); err != nil || changed != isChanged {
			t.Fatal(changed, err)
		}
	}
	if _, err := a.Open(text, sealed.Want{Kind: sealed.Session}); !errors.Is(err, sealed.ErrAltered) {
		t.Error(err)
	}
	raw, err := sealed.ReadKeys(path)
	if err != nil || len(raw) != 1 || len(raw[0]) != sealed.KeySize || bytes.Equal(raw[0], make([]byte, sealed.KeySize)) {
		t.Errorf("%d keys, %v", len(raw), err)
	}
}
