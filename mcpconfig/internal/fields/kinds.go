package fields

import (
	"encoding/json"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/schema"
)

// headerName matches the name of a header (RFC 9110, section 5.6.2).
const headerName = `"pattern": "^[!#$%&'*+.^_` + "`" + `|~0-9A-Za-z-]+$"`

// The kinds of values.
var (
	anyText   = Kind{"text", '"', `"type": "string"`, ""}
	aText     = Kind{"text", '"', `"type": "string", "minLength": 1`, ""}
	aPath     = Kind{"path", '"', `"type": "string", "minLength": 1`, ""}
	aName     = Kind{"text", '"', `"type": "string", "pattern": "\\S"`, ""}
	arguments = Kind{"list of texts", '[', `"type": "array", "items": {"type": "string"}`, ""}
	manyTexts = Kind{"text, or a list of texts", 0, `"anyOf": [{"type": "string", "minLength": 1}, ` +
		`{"type": "array", "items": {"type": "string", "minLength": 1}}]`, "texts"}
	someTexts = Kind{"text, or a list of texts", 0, `"anyOf": [{"type": "string", "minLength": 1}, ` +
		`{"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}}]`, ""}
	manyWords = Kind{"text, or a list of texts", 0, `"anyOf": [{"type": "string", "minLength": 1}, ` +
		`{"type": "array", "items": {"type": "string", "pattern": "^[^ \\t\\r\\n]+$"}}]`, ""}
	patterns  = Kind{"list of patterns", '[', `"type": "array", "items": {"$ref": "#/$defs/pattern"}`, ""}
	admitted  = Kind{"list of patterns", '[', `"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/pattern"}`, ""}
	byTool    = Kind{"object of texts", '{', `"type": "object", "additionalProperties": ` + filledText, ""}
	variables = Kind{"object of texts", '{', `"type": "object", "propertyNames": {"pattern": "^[^=]+$"}, ` +
		`"additionalProperties": {"type": "string"}`, ""}
	headers = Kind{"object of texts", '{', `"type": "object", "propertyNames": {` + headerName + `}, ` +
		`"additionalProperties": {"type": "string"}`, ""}
	forwarded = Kind{"list of names", '[', `"type": "array", "items": {"type": "string", ` + headerName + `, ` +
		`"not": {"pattern": "^([aA][uU][tT][hH][oO][rR][iI][zZ][aA][tT][iI][oO][nN]|[cC][oO][oO][kK][iI][eE]2?|` +
		`[hH][oO][sS][tT]|[mM][cC][pP]-.*)$"}}`, ""}
	anAddress = Kind{"https address", '"', `"type": "string", ` +
		`"pattern": "^(https://|http://localhost|http://127\\.0\\.0\\.1|http://.::1)[^/?#:\\s]?|\\$\\{"`, "address"}
	loopback = Kind{"address of this machine", '"', `"type": "string", "minLength": 1, "pattern": ` +
		`"^http://(localhost|127\\.0\\.0\\.1|.::1.)(:[0-9]+)?(/[^?#\\s]*)?$|\\$\\{"`, ""}
	aDuration = Kind{"duration", 0, `"description": "Milliseconds as a number, or a duration such as \"90s\" or ` +
		`\"1m30s\"; 0 is the default, less than 0 is none.", "anyOf": [{"type": "number", "maximum": 0}, ` +
		`{"type": "number", "minimum": 1000, "maximum": 2592000000}, {"type": "string", ` +
		`"pattern": "^[-+]?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$"}]`, "duration"}
	aSize = Kind{"size", 0, `"type": ["string", "integer"], "pattern": "^[0-9]+ *([KMG]i?B|B)?$", "minimum": 65536`, ""}
	anAge = Kind{"duration of a minute or more", 0,
		`"type": "string", "pattern": "^([0-9.]+d|([0-9]+(\\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h))+)$"`, ""}
	aLease = Kind{"duration from 2s to 1h", 0,
		`"type": "string", "pattern": "^([0-9]+(\\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h))+$|\\$\\{"`, ""}
	brokers  = Kind{"URLs with commas between them", 0, `"type": "string", "pattern": "^\\s*(nats|tls)://|\\$\\{"`, ""}
	monitors = Kind{"URLs with commas between them", 0, `"type": "string", "pattern": "^\\s*https?://|\\$\\{"`, ""}
	aSwitch  = Kind{"`true` or `false`", 0, `"type": "boolean"`, ""}
	aKind    = Kind{"name of a transport", '"',
		`"enum": ["stdio", "http", "streamable-http", "sse", "streamableHttp", "streamable_http"]`, ""}
	onChange = Kind{"`accept`, `hold` or `deny`", 0, `"enum": ["accept", "hold", "deny"]`, "changes"}
	aMemory  = Kind{"size", 0, `"type": ["string", "integer"], "pattern": "^[0-9]+ *([KMG]i?B|B)?$", ` +
		`"minimum": 16777216`, ""}
	paths = Kind{"list of paths", '[', `"type": "array", "items": ` + filledText, ""}
	hosts = Kind{"list of hosts", '[', `"type": "array", "items": {"type": "string", "pattern": ` +
		`"^[^/]+:0*[1-9][0-9]{0,4}$|\\$\\{"}`, ""}
	ports = Kind{"list of ports", '[', `"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 65535}`, ""}
	aBox  = Kind{"`strict`, `package`, `off`, or an object", 0,
		`"anyOf": [{"enum": ["strict", "package", "off"]}, {"$members": true}]`, "sandbox"}
	anObject = Kind{"object", '{', `"type": "object"`, ""}
)

const filledText = `{"type": "string", "minLength": 1}`

// with returns the kind with more members of its schema.
func (k Kind) with(members string) Kind {
	k.Schema += ", " + members
	return k
}

// oneWord returns the kind of a text that is one of several words.
func oneWord(json hujson.Kind, shown string, words ...string) Kind {
	return Kind{shown, json, `"enum": ` + quoted(words), ""}
}

// wholeNumber returns the kind of a whole number.
func wholeNumber(json hujson.Kind, minimum, maximum string) Kind {
	return Kind{"whole number", json, `"type": "integer", "minimum": ` + minimum + `, "maximum": ` + maximum, ""}
}

func quoted(list []string) string {
	text, _ := json.Marshal(list) // strings only
	return string(text)
}

// profile returns the kind of the name of a profile.
func profile() Kind {
	var names []string
	for _, p := range schema.Profiles() {
		names = append(names, p.Name())
	}
	return oneWord(0, "name of a profile", names...)
}
