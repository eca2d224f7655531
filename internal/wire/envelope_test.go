package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/wire"
)

func ExampleScan() {
	msg, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools\/call","params":{"b":1, "a":2.0}}`))
	fmt.Println(msg.Kind(), msg.MethodName(), err)
	fmt.Printf("%s %s\n", msg.ID, msg.Params)
	_, err = wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"result":{},"\u0069d":2}`))
	fmt.Println(err)
	// Output:
	// request tools/call <nil>
	// 9007199254740993 {"b":1, "a":2.0}
	// wire: key "id" stands twice, again at byte 36
}

var envelopeKeys = []string{"id", "method", "params", "result", "error", "jsonrpc"}

func TestScanAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range append(corpus(), deep()...) {
		checkScan(t, []byte(s))
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range corpus() {
		f.Add([]byte(s))
	}
	f.Fuzz(checkScan)
}

// checkScan compares Scan with encoding/json. Scan must accept exactly the valid and unambiguous
// objects, and must find the same values in them.
func checkScan(t *testing.T, b []byte) {
	e, err := wire.Scan(b)
	var syntax *wire.SyntaxError
	var key *wire.KeyError
	var values map[string]json.RawMessage
	object := json.Unmarshal(b, &values) == nil && values != nil
	switch {
	case object && ambiguous(b):
		if !errors.As(err, &key) || key.Offset >= len(b) || b[key.Offset] != '"' {
			t.Fatalf("Scan(%s): %v, want a KeyError at a key", clip(b), err)
		}
	case object:
		if err != nil {
			t.Fatalf("Scan(%s): %v", clip(b), err)
		}
		for i, got := range []json.RawMessage{e.ID, e.Method, e.Params, e.Result, e.Error, e.Version} {
			want := values[envelopeKeys[i]]
			if !bytes.Equal(got, want) || (got == nil) != (want == nil) || cap(got) != len(got) {
				t.Fatalf("Scan(%s): %s is %q, encoding/json has %q", clip(b), envelopeKeys[i], got, want)
			}
		}
		var method string
		if e.Method != nil && json.Unmarshal(e.Method, &method) == nil && e.MethodName() != method {
			t.Fatalf("Scan(%s): method %q, encoding/json has %q", clip(b), e.MethodName(), method)
		}
	default:
		if !errors.As(err, &syntax) || syntax.Offset > len(b) || syntax.Reason == "" {
			t.Fatalf("Scan(%s): %v, want a SyntaxError", clip(b), err)
		}
	}
	if err != nil && e.Kind() != wire.Invalid {
		t.Fatalf("Scan(%s) fails, and returns a %v", clip(b), e.Kind())
	}
}

// ambiguous reports whether an envelope key of a valid object is repeated or has another spelling.
// It does not use the code of the package.
func ambiguous(b []byte) bool {
	seen := map[string]bool{}
	for _, m := range decodeObject(b) {
		for _, want := range envelopeKeys {
			like, _, _ := strings.Cut(m.key, "\x00")
			like = strings.NewReplacer("ı", "i", "İ", "i").Replace(like)
			if m.key == want && seen[want] || m.key != want && strings.EqualFold(like, want) {
				return true
			}
		}
		seen[m.key] = true
	}
	return false
}

type pair struct{ key, value string }

// decodeObject returns the members of an object as encoding/json reads them, in order.
func decodeObject(b []byte) []pair {
	var list []pair
	dec := json.NewDecoder(bytes.NewReader(b))
	if _, err := dec.Token(); err != nil {
		panic(err)
	}
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			panic(err)
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			panic(err)
		}
		list = append(list, pair{k.(string), string(v)})
	}
	return list
}

func TestScanSaysWhatAndWhere(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{``, `wire: unexpected end at byte 0`},
		{`[1]`, `wire: unexpected '[' at byte 0`},
		{"\ufeff{}", `wire: unexpected byte 0xef at byte 0`},
		{`starting …`, `wire: unexpected 's' at byte 0`},
		{`{"id":1`, `wire: unexpected end at byte 7`},
		{`{"id":01}`, `wire: unexpected '1' at byte 7`},
		{`{"id":1}{"id":2}`, `wire: unexpected '{' after the object at byte 8`},
		{"{\"a\":\"x\x01\"}", `wire: control character 0x01 in a string at byte 7`},
		{`{"a":"x\q"}`, `wire: invalid escape with 'q' at byte 8`},
		{`{"id":1,"a":{},"id":2}`, `wire: key "id" stands twice, again at byte 15`},
		{`{"id":1,"ID":2}`, `wire: key "ID" can be taken for "id", at byte 8`},
		{`{"re\u017fult":2}`, `wire: key "reſult" can be taken for "result", at byte 1`},
		{`{"id":1,"ID":2}}`, `wire: unexpected '}' after the object at byte 15`},
		{`{"a":` + strings.Repeat("[", 20000), `wire: nested deeper than 10000 at byte 10004`},
	} {
		if _, err := wire.Scan([]byte(c.in)); err == nil || err.Error() != c.want {
			t.Errorf("Scan(%s)\n got %v\nwant %s", clip([]byte(c.in)), err, c.want)
		}
	}
}

func TestKind(t *testing.T) {
	for _, c := range []struct {
		in   string
		want wire.Kind
	}{
		{`{"id":1,"method":"m"}`, wire.Request},
		{`{"id":"","method":"m","params":[]}`, wire.Request},
		{`{"id":-1.5,"method":"m"}`, wire.Request},
		{`{"method":"m"}`, wire.Notification},
		{`{"id":1,"result":null}`, wire.Response},
		{`{"id":1,"error":{}}`, wire.Response},
		{`{"id":null,"error":{}}`, wire.Response},
		{`{"id":null,"result":{}}`, wire.Invalid},
		{`{"id":null,"method":"m"}`, wire.Invalid},
		{`{"id":true,"method":"m"}`, wire.Invalid},
		{`{"id":{},"result":1}`, wire.Invalid},
		{`{"id":1,"result":{},"error":null}`, wire.Invalid},
		{`{"id":1,"method":"m","result":{}}`, wire.Invalid},
		{`{"id":1,"method":null}`, wire.Invalid},
		{`{"result":{}}`, wire.Invalid},
		{`{"error":{}}`, wire.Invalid},
		{`{"id":1}`, wire.Invalid},
		{`{}`, wire.Invalid},
	} {
		e, err := wire.Scan([]byte(c.in))
		if err != nil || e.Kind() != c.want {
			t.Errorf("%s: a %v (%v), want a %v", c.in, e.Kind(), err, c.want)
		}
	}
}

func TestScanAllocatesNothing(t *testing.T) {
	b := []byte(`{"jsonrpc":"2.0","i\u0064":1,"method":"m","_meta":{"ID":[1]},"params":{"a":[[1]]}}`)
	if n := testing.AllocsPerRun(100, func() { _, _ = wire.Scan(b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
