package jsontree_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/indusagi/indus/internal/jsontree"
)

func ExampleDocument_LookUp() {
	root := jsontree.Parse([]byte(`{"$defs": {"a/b": {"type": "string"}, "c": {"$anchor": "named", "items": [1, 2.0]}}}`))
	doc := jsontree.NewDocument(root)
	fmt.Println(doc.LookUp("#/$defs/a~1b").Compact(), doc.LookUp("#named").Path(),
		doc.LookUp("#/$defs/c/items/1").Compact())
	// Output: {"type":"string"} /$defs/c 2.0
}

// What is read is written as it was, and each value is found under its path.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a/b": [1, 1e2, "\ud800", {"": null}], "~": {"x": [true, false]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var compact bytes.Buffer
		if json.Compact(&compact, raw) != nil || bytes.ContainsAny(raw, "%#") {
			return
		}
		root := jsontree.Parse(raw)
		if written := root.Append(nil); !json.Valid(written) || len(written) > compact.Len() {
			t.Fatalf("%s became %s", raw, written)
		}
		doc := jsontree.NewDocument(root)
		for n := range root.All() {
			if found := doc.LookUp("#" + n.Path()); found != n {
				t.Fatalf("%q leads to %v", n.Path(), found)
			}
		}
	})
}
