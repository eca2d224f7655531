package wire_test

import (
	"fmt"

	"github.com/indusagi/indus/internal/wire"
)

func ExampleObject() {
	fmt.Println(string(wire.Object{}.JSON()))
	fmt.Println(string(wire.Object{}.Text("name", "a \"b\"").Text("title", "").Raw("schema", []byte(`{}`)).Raw("hints", nil).JSON()))
	// Output:
	// {}
	// {"name":"a \"b\"","schema":{}}
}
