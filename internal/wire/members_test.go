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

func ExampleMembers() {
	list, err := wire.Members([]byte(`{"name":"echo", "arg\u0073":{"text":"}"}}`))
	for _, m := range list {
		fmt.Printf("%s = %s at %d to %d\n", m.Key, m.Value, m.Start, m.End)
	}
	fmt.Println(err)
	// Output:
	// name = "echo" at 1 to 14
	// args = {"text":"}"} at 16 to 40
	// <nil>
}

func TestMembersAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range append(corpus(), deep()...) {
		checkMembers(t, []byte(s))
	}
}

func FuzzMembers(f *testing.F) {
	for _, s := range corpus() {
		f.Add([]byte(s))
	}
	f.Fuzz(checkMembers)
}

// checkMembers compares Members, Lookup and Elements with encoding/json if b is valid. If b is not
// valid, it only checks that they return.
func checkMembers(t *testing.T, b []byte) {
	members, err := wire.Members(b)
	elements, elementsErr := wire.Elements(b)
	wire.Lookup(b, "id")
	_ = wire.Unique(members)
	if !json.Valid(b) {
		return
	}
	var values map[string]json.RawMessage
	object := json.Unmarshal(b, &values) == nil && values != nil
	var array []json.RawMessage
	isArray := json.Unmarshal(b, &array) == nil && array != nil
	if (err == nil) != object || (elementsErr == nil) != isArray {
		t.Fatalf("%s: Members: %v, Elements: %v", clip(b), err, elementsErr)
	}
	if isArray {
		checkElements(t, b, elements, array)
	}
	if !object {
		return
	}
	want := decodeObject(b)
	if len(want) != len(members) {
		t.Fatalf("Members(%s): %d of them, want %d", clip(b), len(members), len(want))
	}
	for i, m := range members {
		var key string
		if m.Key != want[i].key || string(m.Value) != want[i].value || json.Unmarshal(m.RawKey, &key) != nil ||
			key != m.Key ||
			!bytes.HasPrefix(b[m.Start:m.End], m.RawKey) || !bytes.HasSuffix(b[m.Start:m.End], m.Value) {
			t.Fatalf("Members(%s): member %d is %+v, want %q", clip(b), i, m, want[i])
		}
		if v, ok := wire.Lookup(b, m.Key); !ok || !bytes.Equal(v, values[m.Key]) {
			t.Fatalf("Lookup(%s, %q) = %q, %v, want %q", clip(b), m.Key, v, ok, values[m.Key])
		}
	}
	if err := wire.Unique(members); (err == nil) != (len(values) == len(members)) {
		t.Fatalf("Unique(%s) = %v", clip(b), err)
	}
}

func checkElements(t *testing.T, b []byte, got, want []json.RawMessage) {
	if len(got) != len(want) {
		t.Fatalf("Elements(%s): %d of them, want %d", clip(b), len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("Elements(%s): element %d is %q, want %q", clip(b), i, got[i], want[i])
		}
	}
}

func TestUniqueNamesTheFirstDuplicate(t *testing.T) {
	long := make([]string, 40)
	for i := range long {
		long[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	for _, obj := range []string{`{"a":1,"b":2,"\u0061":3,"b":4}`,
		`{` + strings.Join(long, ",") + `,"k7":1,"\u0061":3,"a":4}`} {
		members, err := wire.Members([]byte(obj))
		if err != nil {
			t.Fatal(err)
		}
		want := members[2]
		if len(members) > 4 {
			want = members[40]
		}
		var key *wire.KeyError
		if err := wire.Unique(members); !errors.As(err, &key) || key.Key != want.Key || key.Offset != want.Start {
			t.Errorf("Unique(%s) = %v, want %q", obj, err, want.Key)
		}
		if err := wire.Unique(members[:2]); err != nil {
			t.Error(err)
		}
	}
}

func TestLookupTakesTheLast(t *testing.T) {
	v, ok := wire.Lookup([]byte(` {"a":1,"b":2,"\u0061":{"a":3}} `), "a")
	if string(v) != `{"a":3}` || !ok {
		t.Errorf("%s, %v", v, ok)
	}
	for _, obj := range []string{`{"b":1}`, `["a"]`, `"a"`, ``, `{"a":1`, `{"a":1}}`} {
		if v, ok := wire.Lookup([]byte(obj), "a"); ok {
			t.Errorf("%s: %s", obj, v)
		}
	}
}

// Documents with many brackets, quotes and backslashes, longer than the blocks that are skipped at
// once.
func TestMembersOnRandomDocuments(t *testing.T) {
	seed := uint64(20260728)
	rnd := func(n int) int {
		seed = seed*6364136223846793005 + 1442695040888963407
		return int(seed>>33) % n
	}
	var value func(depth int) string
	value = func(depth int) string {
		pieces := []string{`1`, `-2.5e3`, `null`, `true `, `""`, `"{"`, `"]}"`, `"\\"`, `"\""`, `"\\\"}"`,
			`"plain text that is a little longer than the rest"`, "\n \"é\u2028\""}
		if depth == 0 || rnd(3) == 0 {
			return pieces[rnd(len(pieces))]
		}
		var parts []string
		for range rnd(6) {
			part := value(depth - 1)
			if depth&1 == 0 {
				part = fmt.Sprintf(`"k%d\u007b" : %s`, rnd(50), part)
			}
			parts = append(parts, part)
		}
		if depth&1 == 0 {
			return "{" + strings.Join(parts, ",") + "}"
		}
		return "[ " + strings.Join(parts, " , ") + "]"
	}
	for range 5000 {
		b := []byte(value(6 + rnd(2)))
		if !json.Valid(b) {
			t.Fatalf("the generator made %s", b)
		}
		checkMembers(t, b)
		checkScan(t, b)
	}
}

func TestACrowdIsRefused(t *testing.T) {
	zeros := "0" + strings.Repeat(",0", wire.MaxParts-1)
	if list, err := wire.Elements(json.RawMessage("[" + zeros + "]")); err != nil || len(list) != wire.MaxParts {
		t.Errorf("%d elements, %v: as many as are allowed", len(list), err)
	}
	if _, err := wire.Elements(json.RawMessage("[" + zeros + ",0]")); !errors.Is(err, wire.ErrTooManyParts) {
		t.Errorf("one more gives %v", err)
	}
	obj := `{"":0` + strings.Repeat(`,"":0`, wire.MaxParts) + "}"
	if _, err := wire.Members(json.RawMessage(obj)); !errors.Is(err, wire.ErrTooManyParts) {
		t.Errorf("too many members give %v", err)
	}
}
