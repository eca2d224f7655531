package host

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// page is the part of a list that a cursor asks for, as a result of tools/list. size is
// how many tools it has; 0: all. cursor is the JSON of the request's; nil: the first page.
func (l *toolList) page(era interop.Era, cursor json.RawMessage, size int) (json.RawMessage, error) {
	list, from := l.of(era), 0
	if len(cursor) > 0 && string(cursor) != "null" && string(cursor) != `""` {
		s, _ := wire.Unquote(cursor)
		var ok bool
		if from, ok = l.behind(s); !ok || size == 0 {
			return nil, &interop.RPCError{Code: interop.CodeInvalidParams, Message: "tools/list: unknown cursor"}
		}
	}
	if size == 0 || from == 0 && size >= len(list.rows) {
		return list.result, nil
	}
	to := min(from+size, len(list.rows))
	members := slices.Clone(l.caching)
	if to < len(list.rows) {
		members = append(members, `"nextCursor":"`+l.cursor(to)+`"`)
	}
	return joinRows(list.rows[from:to], members...), nil
}

// sumSize is the length of what a cursor says of a name: too long for a server to choose a
// name that counts as another's.
const sumSize = 6

// cursor names the tools before to, all of which were sent, so that what comes behind them is
// found again in a list that has changed meanwhile: neither is a tool that stays skipped, nor
// one sent twice.
func (l *toolList) cursor(to int) string {
	b := make([]byte, 0, to*sumSize+crc32.Size)
	for _, name := range l.names[:to] {
		sum := nameSum(name)
		b = append(b, sum[:]...)
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

func nameSum(name string) [sumSize]byte {
	sum := sha256.Sum256([]byte(name))
	return [sumSize]byte(sum[:])
}

// behind is where the page after the tools that a cursor names begins: behind the last of
// them that is still there.
func (l *toolList) behind(cursor string) (from int, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) < sumSize+crc32.Size || len(b)%sumSize != crc32.Size {
		return 0, false
	}
	b, sum := b[:len(b)-crc32.Size], b[len(b)-crc32.Size:]
	if binary.BigEndian.Uint32(sum) != crc32.ChecksumIEEE(b) {
		return 0, false
	}
	at := make(map[[sumSize]byte]int, len(l.names))
	for i, name := range l.names {
		at[nameSum(name)] = i
	}
	for len(b) > 0 {
		last := len(b) - sumSize
		if i, ok := at[[sumSize]byte(b[last:])]; ok {
			return i + 1, true
		}
		b = b[:last]
	}
	return 0, true
}

// cachingOf is the members that say how long and for whom a list may be kept
// (2026-07-28, server/utilities/caching): as long as the server allows that allows least,
// and not at all while servers are yet to be heard.
func cachingOf(s *toolbox.Snapshot) (members []string) {
	owners := owning(s)
	ttl, known := time.Duration(0), len(owners) > 0 && len(s.Pending) == 0
	for i, o := range owners {
		if i == 0 || o.TTL < ttl {
			ttl = o.TTL
		}
		if o.Private && members == nil {
			members = append(members, `"cacheScope":"private"`)
		}
	}
	if known && ttl > 0 {
		members = append(members, fmt.Sprintf(`"ttlMs":%d`, ttl.Milliseconds()))
	}
	return members
}

// owning is the owners of which some tool is shown: what another says concerns nobody, and
// may be why its tools are held back.
func owning(s *toolbox.Snapshot) []toolbox.Owner {
	shown := map[string]bool{}
	for i := range s.Tools {
		shown[s.Tools[i].Server] = true
	}
	return slices.DeleteFunc(slices.Clone(s.Owners), func(o toolbox.Owner) bool { return !shown[o.Server] })
}

// What servers may tell a client's model, in bytes: each, and all.
const (
	maxInstructions    = 4 << 10
	maxAllInstructions = 16 << 10
)

// instructionsOf is what the servers say that have been heard so far, each under its
// name, quoted so that none can speak as another.
func instructionsOf(s *toolbox.Snapshot) string {
	var b strings.Builder
	for _, o := range owning(s) {
		says, _ := text.Visible(text.Lines(o.Instructions))
		if says = strings.TrimSpace(says); says == "" {
			continue
		}
		if b.Len() > maxAllInstructions {
			b.WriteString("\n\nFurther servers have instructions, which are left out.")
			break
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "The server %q says of its tools, whose names here begin with %q:\n> %s", o.Server, o.Prefix,
			strings.ReplaceAll(text.Clip(says, maxInstructions), "\n", "\n> "))
	}
	return b.String()
}
