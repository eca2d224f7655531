package wire_test

import "strings"

// corpus returns JSON, invalid JSON and ambiguous messages. Each fuzzer starts from it.
// encoding/json is the reference for all of it.
func corpus() []string {
	list := []string{
		// messages
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"hi"}]}}`,
		`{"result":{"tools":[]},"jsonrpc":"2.0","id":7}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}`,
		" \t\r\n{ \"id\" : 1 , \"result\" : [ ] } \n",
		// repeated keys, plain and in other spellings
		`{"id":1,"id":2,"method":"m"}`,
		`{"id":1,"i\u0064":2,"method":"m"}`,
		`{"i\u0064":2,"\u006dethod":"m"}`,
		`{"id":1,"ID":2,"method":"m"}`,
		`{"Id":1,"method":"m"}`,
		`{"id":1,"\u0049d":2}`,
		`{"id":1,"re` + "ſ" + `ult":{}}`,
		`{"id":1,"re\u017fult":{}}`,
		`{"` + "ı" + `d":1}`, `{"\u0130D":1}`,
		`{"id\u0000":1,"method":"m"}`, `{"\u0000id":1}`, `{"\u0000":1}`, `{"":1,"":2}`,
		`{"JSONRPC":"2.0"}`, `{"jsonrpc2":1,"methods":2,"i":3,"ids":4}`,
		`{"x":1,"x":2,"id":3}`, `{"\ud800":1,"\udfff":2,"id":3}`, `{"\ud83d\ude00":1}`,
		`{"result":1,"result":1,`, `{"ID":1} x`,
		// ids elsewhere
		`{"params":{"id":5},"method":"m"}`,
		`{"params":{"id":5,"x":"}{\"id\":6"},"id":7,"method":"m"}`,
		`{"result":"\",\"id\":9,\"x\":\"","id":8}`,
		`{"a":"\\","id":8}`, `{"a":"\\\"","id":8}`, `{"a":"\\\\","id":8}`,
		`{"error":null,"result":null,"id":1}`,
		`{"id":{"id":1}}`, `{"id":[1]}`, `{"id":true}`, `{"id":1.5e3,"result":0}`, `{"id":-1,"result":0}`,
		`{"method":7,"id":1}`, `{"method":"a\u002fb\n","id":1}`, `{"method":"m","id":null}`,
		// not one object
		``, ` `, `null`, `[]`, `[{"id":1}]`, `"x"`, `1`, `{}`, `{ }`, `{}{}`, `{} {}`, `{},`, `{}x`, `{}` + "\x00", "\x00{}",
		"\ufeff{}", "{}\ufeff", `{"id":1}` + "\n" + `{"id":2}`, "{}\v", "{\f}", "{\u00a0}", "{}\u2028",
		// structure
		`{`, `}`, `[`, `]`, `{]`, `[}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{a:1}`, `{'a':1}`, `{1:1}`,
		`[1,]`, `[,1]`, `[1 2]`, `[1,,2]`, `{"a":1 "b":2}`, `{"a"::1}`, `{"a":[}`, `[[]`, `[]]`, `{"a":{"b":[1,{"c":null}]}}`,
		`[[],{},[[]],[{}],{"a":[]}]`, `{"a":1/*x*/}`, `{"a":NaN}`, `{"a":Infinity}`, `{"a":undefined}`,
		// literals and numbers
		`true`, `false`, `null `, `tru`, `truex`, `nul`, `TRUE`, `[true,false,null]`, `t`, `[t]`, `truefalse`,
		`0`, `-0`, `-`, `+1`, `01`, `-01`, `1.`, `.5`, `1.5`, `1e5`, `1E+5`, `1e-5`, `1e`, `1e+`, `1.e1`, `-0.0e-0`, `0x10`, `1_000`,
		`123456789012345678901234567890`, `1e999999`, `-1e-999999`, `9007199254740993`, `00`, `1a`, `[1a]`, `1e5.5`, `--1`, `1 `,
		// strings
		`"`, `"\"`, `"\\"`, `"\\\"`, `"\u"`, `"\u12"`, `"\u123g"`, `"\u1234"`, `"\U1234"`, `"\x41"`, `"\'"`, `"\/\b\f\n\r\t\"\\"`,
		`"\ud800"`, `"\udc00\ud800"`, `"\ud800\u0041"`, `"\ud83d\ude00"`, `"\ud83d\ude0"`, `"\ud83d\`, `"\ud83dx"`,
		"\"\x00\"", "\"\x1f\"", "\"\x7f\"", "\"\n\"", "\"\t\"", "\"\xff\"", "\"a\xc3\"", "\"\xed\xa0\x80\"", "\"\u2028\"", `"é`, `"a"b"`,
		"\"1234567\x1f\"", "\"12345678\x1f\"", "\"\x80\xa2\xdc\x9f\"", `"!#[]^` + "`" + `"`,
	}
	for _, n := range []int{6, 7, 8, 9, 15, 16, 31, 32, 33, 40, 63, 64, 65, 100} { // around the sizes of blocks
		fill := strings.Repeat("x", n)
		list = append(list, `"`+fill+`"`, `"`+fill, `"`+fill+"\x01\"", `"`+fill+`\"`, `"`+fill+`\\"`, `"`+fill+`\u00e9"`,
			`"`+fill+`\q"`,
			`{"`+fill+`":[{"]":"`+fill+`"}],"id":1}`, `{"result":["`+fill+`{[",{}],"id":1}`,
			`{"result":`+strings.Repeat(`[{"a":`, n)+`0`+strings.Repeat(`}]`, n)+`,"id":"`+fill+`"}`,
			strings.Repeat(" ", n)+`{"id":`+strings.Repeat("1", n)+`}`+strings.Repeat("\n", n))
	}
	return list
}

// deep returns JSON around the depth limit. It is too long for fuzzing.
func deep() (list []string) {
	for _, n := range []int{4999, 5000, 9998, 9999, 10000, 10001} {
		list = append(list, strings.Repeat("[", n)+strings.Repeat("]", n), strings.Repeat("[", n),
			`{"result":`+strings.Repeat("[", n)+strings.Repeat("]", n)+`}`,
			`{"result":`+strings.Repeat(`{"a":[`, n/2)+strings.Repeat("]}", n/2)+`}`)
	}
	return list
}
