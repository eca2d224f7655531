package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/tools"
)

func TestWhatBelongsToTheHopIsNoDifference(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ was, now, want string }{
		{`{"a":1,"ttlMs":5,"_meta":{"io.modelcontextprotocol/serverInfo":{}}}`, `{"resultType":"complete","cacheScope":"private","a":1}`, ""},
		{`{"a":{"ttlMs":5}}`, `{"a":{}}`, `/a/ttlMs: was 5, is nothing`},
		{`{"a":[1,2],"b/c":"x"}`, `{"a":[1,3],"b/c":"y","d":null}`, `/a/1: was 2, is 3; /b~1c: was "x", is "y"; /d: was nothing, is null`},
		{`{"a":[1]}`, `{"a":[1,2]}`, `/a/1: was nothing, is 2`},
		{`{"n":9007199254740993}`, `{"n":9007199254740992}`, `/n: was 9007199254740993, is 9007199254740992`},
		{`{"error":{"code":1,"message":"m"}}`, `{"error":{"code":1,"message":"m","data":null}}`, ""},
		{`{"content":[]}`, `{"error":{"code":1}}`, `/content: was [], is nothing; /error: was nothing, is {"code":1}`},
		{`[1,2,3,4,5,6,7]`, `[0,0,0,0,0,0,0]`, `/0: was 1, is 0; /1: was 2, is 0; /2: was 3, is 0; /3: was 4, is 0; /4: was 5, is 0`},
	} {
		if got := strings.Join(tools.Differences(json.RawMessage(tt.was), json.RawMessage(tt.now)), "; "); got != tt.want {
			t.Errorf("%s, %s: %s, not %s", tt.was, tt.now, got, tt.want)
		}
	}
}
