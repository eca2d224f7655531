package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/indusagi/indus/internal/wire"
)

func TestValidAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range append(corpus(), deep()...) {
		checkValid(t, []byte(s))
	}
}

// For every byte at every place of a document, Valid must agree with encoding/json.
func TestValidAgreesOnEveryByte(t *testing.T) {
	for _, doc := range []string{
		`{"a":[1,-2.5e+3,"x\u00e9\n",true,false,null,{}]}`,
		`"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\\"`,
	} {
		for i := range len(doc) {
			for c := range 256 {
				b := []byte(doc)
				b[i] = byte(c)
				checkValid(t, b)
			}
			checkValid(t, []byte(doc[:i]))
			checkValid(t, []byte(doc[i:]))
		}
	}
}

func FuzzValid(f *testing.F) {
	for _, s := range corpus() {
		f.Add([]byte(s))
	}
	f.Fuzz(checkValid)
}

func checkValid(t *testing.T, b []byte) {
	if got, want := wire.Valid(b), json.Valid(b); got != want {
		t.Errorf("Valid(%s) = %v, encoding/json has %v", clip(b), got, want)
	}
}

// clip shortens a document for a message.
func clip(b []byte) string {
	if len(b) > 300 {
		return string(b[:150]) + " … " + string(b[len(b)-150:])
	}
	return string(b)
}
