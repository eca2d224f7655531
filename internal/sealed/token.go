package sealed

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"
)

// Kind is what a token is for. None is taken for another.
type Kind byte

// The kinds. Their numbers stand in tokens that others have: they stay.
const (
	Session      Kind = 1 + iota // the id of a legacy session
	RequestState                 // a server's own requestState
	Parked                       // a call that waits here for a client's answers
	Task                         // a task's id
	Cursor                       // a page's
	Store                        // what is kept in a file
)

// Token is what is sealed.
type Token struct {
	Kind Kind
	// Replica is the address of who made it, for its peers. "": there are none.
	Replica string
	// Principal is whom it was given to. "": everybody, where there are no principals.
	Principal string
	// Expires is when it ends, to the millisecond. Zero: never.
	Expires time.Time
	// Digest is that of the request that it belongs to, see [Digest]. Zero: to none.
	Digest [sha256.Size]byte
	// Data is what it carries.
	Data []byte
}

// Why a token is refused. The texts are fit for the client that sent it.
var (
	ErrAltered   = errors.New("the token was not made here, or was altered on its way")
	ErrKind      = errors.New("the token is for something else")
	ErrPrincipal = errors.New("the token was given to somebody else")
	ErrRequest   = errors.New("the token belongs to another request")
	ErrExpired   = errors.New("the token has expired")
)

// Digest is that of a request's parts: its method, and what of its params must stay. No
// other parts have it, however they are cut.
func Digest(parts ...[]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(p))))
		h.Write(p)
	}
	h.Sum(sum[:0])
	return sum
}

// Which fields follow a kind.
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

// decode reads what encode wrote. Data is an extent of b.
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

// cutText cuts off a text, in front of which its length stands.
func cutText(b []byte) (text string, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return "", nil, false
	}
	b = b[size:]
	return string(b[:n]), b[n:], true
}

// check says why a token is not what is wanted.
func (t *Token) check(want Want) error {
	now := want.Now
	if now.IsZero() {
		now = time.Now()
	}
	switch {
	case t.Kind != want.Kind:
		return ErrKind
	case t.Principal != want.Principal:
		return ErrPrincipal
	case t.Digest != want.Digest:
		return ErrRequest
	case !t.Expires.IsZero() && !now.Before(t.Expires):
		return ErrExpired
	}
	return nil
}

// Cursors seals the cursors of one principal's pages of one list.
type Cursors struct {
	keys      *Keys
	principal string
	digest    [sha256.Size]byte
}

// Cursors are those of a list, which its name tells from others.
func (k *Keys) Cursors(principal, list string) Cursors {
	return Cursors{k, principal, Digest([]byte(list))}
}

// Seal is the cursor of a place.
func (c Cursors) Seal(place []byte) string {
	return c.keys.Seal(Token{Kind: Cursor, Principal: c.principal, Digest: c.digest, Data: place})
}

// Open is the place of a cursor.
func (c Cursors) Open(cursor string) (place []byte, err error) {
	t, err := c.keys.Open(cursor, Want{Kind: Cursor, Principal: c.principal, Digest: c.digest})
	return t.Data, err
}
