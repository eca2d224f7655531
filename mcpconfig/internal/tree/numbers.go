package tree

import (
	"strings"

	"github.com/tailscale/hujson"
)

// WholeNumber returns a number without a fraction. It returns false for any other value.
func WholeNumber(v *hujson.Value) (int, bool) {
	if !Has(v, '0') {
		return 0, false
	}
	f := v.Value.(hujson.Literal).Float()
	return int(f), f == float64(int(f))
}

// sizeUnits are the units of a size, the longest first.
var sizeUnits = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}}

// Size returns a number of bytes, or the number of bytes of a text such as "100MB".
func Size(v *hujson.Value) (int64, bool) {
	if Has(v, '"') {
		return ParseSize(Text(*v))
	}
	n, ok := WholeNumber(v)
	return int64(n), ok
}

const largestSize = 1 << 40 // larger numbers count as a little more

// ParseSize returns the number of bytes of a text such as "100MB".
func ParseSize(text string) (int64, bool) {
	for _, unit := range sizeUnits {
		digits, ok := strings.CutSuffix(text, unit.name)
		if !ok {
			continue
		}
		digits = strings.TrimSpace(digits)
		var n int64
		for _, c := range digits {
			if c < '0' || c > '9' || n > largestSize {
				return 0, false
			}
			n = 10*n + int64(c-'0')
		}
		return min(n, largestSize+1) * unit.bytes, digits != ""
	}
	return 0, false
}
