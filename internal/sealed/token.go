package sealed

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"
)

// Kind is the purpose of a token. A token of one kind is never accepted as another.
type Kind byte

// The kinds. Tokens held by clients contain these numbers, so they never change.
const (
	Session      Kind = 1 + iota // the id of a legacy session
	RequestState                 // a server's own requestState
	Parked                       // a call that waits here for a client's answers
	Task                         // the id of a task
	Cursor                       // the cursor of a page
	Store                        // data in a file
	Approval                     // a question to a client about the approval of its call
	SignIn                       // the link or the state of a sign-in in a browser
	Visit                        // the session of a browser at the page
)

// isHeld reports whether the state behind tokens of this kind is held by the replica that made them.
func (k Kind) isHeld() bool {
	switch k {
	case Session, RequestState, Parked, Task, Approval, SignIn, Visit:
		return true
	}
	return false
}

// Token holds the fields to seal.
type Token struct {
	Kind Kind
	// Replica is the name of the replica that holds the state behind the token. If it is "",
	// [Keys.Seal] writes the name of its own replica, if it has one.
	Replica string
	// Principal is the principal that received the token. If it is "", any caller may use the
	// token, because there are no principals.
	Principal string
	// Expires is the time of expiry, to the millisecond. A token with the zero time never expires.
	Expires time.Time
	// Digest is the digest of the request that the token belongs to, see [Digest]. If it is zero,
	// the token belongs to no request.
	Digest [sha256.Size]byte
	// Data is the content of the token.
	Data []byte
}

// Reasons why a token is refused. The texts may be shown to the client that sent it.
var (
	ErrAltered   = errors.New("the token was not made here, or was altered on its way")
	ErrKind      = errors.New("the token is for something else")
	ErrPrincipal = errors.New("the token was given to somebody else")
	ErrRequest   = errors.New("the token belongs to another request")
	ErrExpired   = errors.New("the token has expired")
	ErrReplica   = errors.New("the token belongs to another replica")
)

// Digest returns the digest of a request's parts: its method, and the params that must not change.
// Different parts have different digests, even if their concatenations are equal.
func Digest(parts ...[]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(p))))
		h.Write(p)
	}
	h.Sum(sum[:0])
	return sum
}

// Flags for the fields that follow a kind.
const (
	hasExpiry byte = 1 << iota
	hasDigest
)

// encode appends the fields to b.
func (t *Token) encode(b []byte) []byte {
	var has byte
	if !t.Expires.IsZero() {
		has |= hasExpiry
	}
	if t.Digest != ([sha256.Size]byte{}) {
		has |= hasDigest
	}
	b = append(b, byte(t.Kind), has)
	if has&hasExpiry != 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(t.Expires.UnixMilli()))
	}
	if has&hasDigest != 0 {
		b = append(b, t.Digest[:]...)
	}
	b = append(binary.AppendUvarint(b, uint64(len(t.Replica))), t.Replica...)
	b = append(binary.AppendUvarint(b, uint64(len(t.Principal))), t.Principal...)
	return append(b, t.Data...)
}

// decode reads the output of encode. Data is an extent of b.
func (t *Token) decode(b []byte) bool {
	if len(b) < 2 {
		return false
	}
	has := b[1]
	t.Kind, b = Kind(b[0]), b[2:]
	if has&hasExpiry != 0 {
		if len(b) < 8 {
			return false
		}
		t.Expires, b = time.UnixMilli(int64(binary.BigEndian.Uint64(b))), b[8:]
	}
	if has&hasDigest != 0 {
		if len(b) < len(t.Digest) {
			return false
		}
		b = b[copy(t.Digest[:], b):]
	}
	var ok bool
	if t.Replica, b, ok = cutText(b); !ok {
		return false
	}
	if t.Principal, b, ok = cutText(b); !ok {
		return false
	}
	if len(b) > 0 {
		t.Data = b
	}
	return true
}

// cutText cuts off a text with its length in front.
func cutText(b []byte) (text string, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return "", nil, false
	}
	b = b[size:]
	return string(b[:n]), b[n:], true
}

// check returns the reason why a token does not match want, or nil.
func (t *Token) check(want Want) error {
	switch {
	case t.Kind != want.Kind:
		return ErrKind
	case t.Principal != want.Principal:
		return ErrPrincipal
	case t.Digest != want.Digest && !want.AnyRequest:
		return ErrRequest
	case !t.Expires.IsZero() && !time.Now().Before(t.Expires):
		return ErrExpired
	}
	return nil
}

// belongsElsewhere reports whether the state behind a token is not held by a replica. A replica without a name is
// alone.
func (t *Token) belongsElsewhere(replica string) bool {
	return replica != "" && t.Kind.isHeld() && t.Replica != replica
}

// Cursors seals the cursors of one list for one principal.
type Cursors struct {
	keys      *Keys
	principal string
	digest    [sha256.Size]byte
}

// Cursors returns the cursors of a list. The name of the list separates them from the cursors of
// other lists.
func (k *Keys) Cursors(principal, list string) Cursors {
	return Cursors{k, principal, Digest([]byte(list))}
}

// Seal returns the cursor of a place.
func (c Cursors) Seal(place []byte) string {
	return c.keys.Seal(Token{Kind: Cursor, Principal: c.principal, Digest: c.digest, Data: place})
}

// Open returns the place of a cursor.
func (c Cursors) Open(cursor string) (place []byte, err error) {
	t, err := c.keys.Open(cursor, Want{Kind: Cursor, Principal: c.principal, Digest: c.digest})
	return t.Data, err
}
