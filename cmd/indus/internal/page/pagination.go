package page

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/a-h/templ"
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

// offered returns the choices of a list: the first ones, and the chosen one, unless it is the zero value.
func offered[T comparable](all []T, chosen T) []T {
	all = all[:min(len(all), maxOffered):min(len(all), maxOffered)]
	if zero := *new(T); chosen != zero && !slices.Contains(all, chosen) {
		all = append(all, chosen)
	}
	return all
}

// withQuery returns the address of the section with the query of the request, but another value of one field.
func (v *visit) withQuery(name, value string) templ.SafeURL {
	query := url.Values{}
	for key, values := range v.URL.Query() {
		query[key] = values
	}
	query.Set(name, value)
	return templ.SafeURL("/" + v.section.path + "?" + query.Encode())
}
