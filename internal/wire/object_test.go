package wire_test

import (
	"fmt"

	"github.com/indusagi/indus/internal/wire"
)

func ExampleObject() {
	fmt.Println(string(wire.Object{}.JSON()))
	o := wire.Object{}.Text("name", "a \"b\"").Text("title", "").Raw("schema", []byte(`{}`)).Raw("hints", nil)
	fmt.Println(string(o.JSON()))
	// Output:
	// {}
	// {"name":"a \"b\"","schema":{}}
}
