package page

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"maragu.dev/gomponents"
)

// pagination describes the shown page of a long list.
type pagination struct {
	Page  int `json:"page"` // from 1
	Pages int `json:"pages"`
	Total int `json:"total"` // entries of all pages
}

// paginate returns the part of a list that the query asks for with page=N.
func paginate[T any](v *visit, all []T, size int) ([]T, pagination) {
	p := pagination{Pages: max(1, (len(all)+size-1)/size), Total: len(all)}
	n, _ := strconv.Atoi(v.URL.Query().Get("page"))
	p.Page = min(max(1, n), p.Pages)
	begin := min((p.Page-1)*size, len(all))
	return all[begin:min(begin+size, len(all))], p
}

// maxOffered bounds a list of choices.
const maxOffered = 1000

// choice is an entry of a list of choices.
type choice struct{ value, text string }

// choicesOf returns values as choices. The choice "" has the text empty.
func choicesOf(values []string, empty string) (all []choice) {
	for _, v := range values {
		all = append(all, choice{v, cmp.Or(show.Escaped(v), empty)})
	}
	return all
}

// offered returns the choices that a list shows: the first ones, and the chosen one, unless it is "".
func offered(all []choice, chosen string) []choice {
	first := all[:min(len(all), maxOffered)]
	isChosen := func(c choice) bool { return c.value == chosen }
	if chosen == "" || slices.ContainsFunc(first, isChosen) {
		return first
	}
	if i := slices.IndexFunc(all, isChosen); i >= 0 {
		return slices.Concat(first, all[i:i+1])
	}
	return slices.Concat(first, choicesOf([]string{chosen}, ""))
}

// liveIf returns the attribute of a part of the page that is fetched again after events of a topic, if it is live.
func liveIf(isLive bool, topic string) gomponents.Node { return gomponents.If(isLive, liveOn(topic)) }

// withQuery returns the address of the section with the query of the request, but another value of one field.
func (v *visit) withQuery(name, value string) string {
	query := url.Values{}
	for key, values := range v.URL.Query() {
		query[key] = values
	}
	query.Set(name, value)
	return "/" + v.section.path + "?" + query.Encode()
}
