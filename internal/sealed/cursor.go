package sealed

import "crypto/sha256"

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
