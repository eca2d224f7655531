package protocol

import (
	"encoding/json"
	"time"
)

// Duration is what a duration among options means on both sides of the bridge:
// 0 the default, negative none.
func Duration(d, byDefault time.Duration) time.Duration {
	switch {
	case d < 0:
		return 0
	case d == 0:
		return byDefault
	}
	return d
}

// EncodeInfo is how a client or a host names itself: info is three strings.
func EncodeInfo(info any) json.RawMessage {
	b, err := json.Marshal(info)
	if err != nil { // three strings: cannot be
		return json.RawMessage(`{"name":"","version":""}`)
	}
	return b
}
