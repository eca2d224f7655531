package gateway

import (
	"fmt"
	"testing"

	"github.com/indusagi/indus/toolbox"
)

// The lists for single callers are bounded in number and in bytes. They are removed when their server goes.
func TestPrivateListsAreBounded(t *testing.T) {
	for _, size := range []int{1, 1 << 20, maxPrivateBytes + 1} {
		s := newServerLists(nil)
		for i := range 3 * maxPrivateLists {
			key := listKey{server: "a", method: "resources/list", caller: toolbox.Principal(fmt.Sprint(i)), private: true}
			k := s.keyed(key)
			s.keep(key, k, &listing{size: size / 2, private: true})
			s.keep(key, k, &listing{size: size, private: true})
			total := 0
			for _, k := range s.lists {
				total += k.last.length()
			}
			if s.private != len(s.lists) || s.private > maxPrivateLists || s.bytes != total || total > max(maxPrivateBytes, size) || s.lists[key] != k {
				t.Fatalf("of %d bytes each there are %d, %d are counted; %d bytes, %d are counted", size, len(s.lists), s.private, total, s.bytes)
			}
		}
		s.drop(func(string) bool { return false })
		if s.private != 0 || s.bytes != 0 || len(s.lists) != 0 {
			t.Errorf("%d lists and %d bytes are left", s.private, s.bytes)
		}
	}
}
