package providers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lines selects how two schemas are compared. A schema becomes one line, with its path, for each value that is not an
// object or array, and for each empty object or array.
type lines struct {
	// ordered compares the order of properties too, but not the order of the root's keywords, which the SDKs sort.
	ordered bool
	// doubles compares numbers as float64, which the SDK uses, and not by their digits.
	doubles bool
	// forgiven lists the ends of lines that may be missing on either side.
	forgiven []string
}

func (how lines) diff(want, got json.RawMessage) string {
	w, err := how.of(want)
	if err != nil {
		return "adapted: " + err.Error()
	}
	g, err := how.of(got)
	if err != nil {
		return "arrived: " + err.Error()
	}
	return cmp.Diff(how.without(w), how.without(g))
}

func (how lines) without(all []string) []string {
	return slices.DeleteFunc(all, func(line string) bool {
		return slices.ContainsFunc(how.forgiven, func(end string) bool { return strings.HasSuffix(line, end) })
	})
}

func (how lines) of(raw json.RawMessage) ([]string, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	all, err := how.value(d, "", nil)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	if how.ordered {
		slices.SortStableFunc(all, func(a, b string) int { return strings.Compare(keyword(a), keyword(b)) })
	} else {
		slices.Sort(all)
	}
	return all, nil
}

// keyword returns the keyword of the root that a line belongs to.
func keyword(line string) string {
	rest, _, _ := strings.Cut(strings.TrimPrefix(line, "/"), "/")
	first, _, _ := strings.Cut(rest, " ")
	return first
}

func (how lines) value(d *json.Decoder, at string, all []string) ([]string, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return append(all, at+" = "+how.scalar(t)), nil
	}
	if !d.More() {
		all = append(all, fmt.Sprintf("%s = empty %v", at, open))
	}
	for i := 0; d.More(); i++ {
		key := strconv.Itoa(i)
		if open == '{' {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			key = strings.NewReplacer("~", "~0", "/", "~1").Replace(k.(string))
		}
		if all, err = how.value(d, at+"/"+key, all); err != nil {
			return nil, err
		}
	}
	_, err = d.Token() // the closing bracket
	return all, err
}

func (how lines) scalar(t json.Token) string {
	if t == nil {
		return "null"
	}
	n, ok := t.(json.Number)
	if !ok {
		return fmt.Sprintf("%#v", t)
	}
	if f, err := n.Float64(); err == nil && how.doubles {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return n.String()
}

// TestLines checks that the comparison finds differences.
func TestLines(t *testing.T) {
	const a = `{"type":"object","properties":{"b":{"minimum":1.0},"a":{"enum":["x"]}}}`
	for _, c := range []struct {
		how  lines
		b    string
		same bool
	}{
		{lines{ordered: true}, `{ "properties":{"b":{"minimum":1.0},"a":{"enum":["x"]}},"type":"object"}`, true},
		{lines{ordered: true}, `{"type":"object","properties":{"a":{"enum":["x"]},"b":{"minimum":1.0}}}`, false},
		{lines{}, `{"type":"object","properties":{"a":{"enum":["x"]},"b":{"minimum":1.0}}}`, true},
		{lines{}, `{"type":"object","properties":{"b":{"minimum":1},"a":{"enum":["x"]}}}`, false},
		{lines{doubles: true}, `{"type":"object","properties":{"b":{"minimum":1},"a":{"enum":["x"]}}}`, true},
		{lines{doubles: true}, `{"type":"object","properties":{"b":{"minimum":"1"},"a":{"enum":["x"]}}}`, false},
		{lines{}, `{"type":"object","properties":{"b":{},"a":{"enum":["x"]}}}`, false},
		{lines{}, `{"type":"object","properties":{"b":{"minimum":1.0},"a":{"enum":["x"]}},"required":[]}`, false},
		{lines{}, `{"type":"object","properties":{"b":{"minimum":1.0},"a":{"enum":["x"]}},"default":null}`, false},
		{lines{forgiven: []string{"/default = null"}}, `{"type":"object","properties":{"b":{"minimum":1.0},"a":{"enum":["x"]}},"default":null}`, true},
		{lines{}, a + a, false},
	} {
		if same := c.how.diff(json.RawMessage(a), json.RawMessage(c.b)) == ""; same != c.same {
			t.Errorf("%+v %s: same is %v", c.how, c.b, same)
		}
	}
}
