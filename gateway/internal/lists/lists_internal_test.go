package lists

import (
	"fmt"
	"testing"

	"github.com/indusagi/indus/toolbox"
)

// The lists for single callers are bounded in number and in bytes. They are removed when their server goes.
func TestPrivateListsAreBounded(t *testing.T) {
	for _, size := range []int{1, 1 << 20, maxLimitedBytes + 1} {
		s := New(t.Context(), Options{})
		for i := range 3 * maxLimitedLists {
			key := listKey{server: "a", method: "resources/list", caller: toolbox.Principal(fmt.Sprint(i)), private: true}
			k := s.entry(key)
			s.store(key, k, &Listing{size: size / 2, Private: true})
			s.store(key, k, &Listing{size: size, Private: true})
			total := 0
			for _, k := range s.lists {
				total += k.last.length()
			}
			if s.limitedLists != len(s.lists) || s.limitedLists > maxLimitedLists || s.limitedBytes != total || total > max(maxLimitedBytes, size) || s.lists[key] != k {
				t.Fatalf("of %d bytes each there are %d, %d are counted; %d bytes, %d are counted", size, len(s.lists), s.limitedLists, total, s.limitedBytes)
			}
		}
		s.Retain(func(string) bool { return false })
		if s.limitedLists != 0 || s.limitedBytes != 0 || len(s.lists) != 0 {
			t.Errorf("%d lists and %d bytes are left", s.limitedLists, s.limitedBytes)
		}
	}
}
