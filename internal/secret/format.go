package secret

import "strings"

// alphabet is a set of characters of secrets.
type alphabet [256]bool

func alphabetOf(extra string) (a alphabet) {
	for c := range 256 {
		a[c] = alphanumeric(byte(c)) || strings.IndexByte(extra, byte(c)) >= 0
	}
	return a
}

var (
	wordChars = alphabetOf("_")
	dashChars = alphabetOf("_-")
	tailChars = alphabetOf("_-+=") // that may follow a secret of a known format, as a part of it
)

// length returns the length of the longest text of the alphabet at the start of s.
func (a *alphabet) length(s string) int {
	n := 0
	for n < len(s) && a[s[n]] {
		n++
	}
	return n
}

// secretFormat describes secrets of a well-known service: a prefix, followed by at least so many characters of the
// alphabet. Secrets with dots have several such parts.
type secretFormat struct {
	prefix   string
	alphabet *alphabet
	least    []int
}

func formatRows(a *alphabet, least int, prefixes ...string) (out []secretFormat) {
	for _, p := range prefixes {
		out = append(out, secretFormat{p, a, []int{least}})
	}
	return out
}

// secretFormats returns the formats of secrets of well-known services, by their first byte.
func secretFormats() (out [256][]secretFormat) {
	var all []secretFormat
	all = append(all, formatRows(&wordChars, 16, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "hf_", "lin_api_",
		"ntn_", "dop_v1_", "sbp_", "glsa_", "glc_", "gsk_", "pplx-", "napi_", "shpat_", "shpca_", "shppa_",
		"shpss_", "AKIA", "ASIA", "dckr_pat_", "dckr_oat_", "whsec_")...)
	all = append(all, formatRows(&dashChars, 16, "glpat-", "sk-", "figd_", "ya29.", "sntrys_", "sntryu_",
		"nvapi-", "ATATT3x", "ATCTT3x", "hvs.", "hvb.", "glrt-", "gldt-", "glptt-", "GOCSPX-", "CFPAT-", "PMAK-",
		"AGE-SECRET-KEY-1")...)
	all = append(all, formatRows(&dashChars, 10, "xoxa-", "xoxb-", "xoxp-", "xoxo-", "xoxs-", "xoxr-",
		"xapp-")...)
	all = append(all, formatRows(&wordChars, 10, "sk_live_", "sk_test_", "rk_live_", "rk_test_")...)
	all = append(all, formatRows(&wordChars, 20, "npm_")...)
	all = append(all, formatRows(&dashChars, 20, "AIza", "pypi-")...)
	all = append(all, formatRows(&dashChars, 12, "tvly-")...)
	all = append(all, formatRows(&wordChars, 24, "fc-", "xai-", "r8_")...)
	all = append(all, formatRows(&wordChars, 32, "dapi", "pul-", "sgp_")...)
	all = append(all, secretFormat{"SG.", &dashChars, []int{16, 1}}, secretFormat{"eyJ", &dashChars, []int{8, 8, 0}})
	for _, f := range all {
		out[f.prefix[0]] = append(out[f.prefix[0]], f)
	}
	return out
}

var formats = secretFormats()

// formatLength returns the length of the secret of a well-known format at the start of s, or 0.
func formatLength(s string) int {
	for i := range formats[s[0]] {
		if n := formats[s[0]][i].length(s); n > 0 {
			return n
		}
	}
	return 0
}

func (f *secretFormat) length(s string) int {
	if !strings.HasPrefix(s, f.prefix) {
		return 0
	}
	end := len(f.prefix)
	for i, least := range f.least {
		if i > 0 {
			if end == len(s) || s[end] != '.' {
				return 0
			}
			end++
		}
		n := f.alphabet.length(s[end:])
		if n < least {
			return 0
		}
		end += n
	}
	return end + tailChars.length(s[end:])
}

// HasSecretFormat reports whether a text has the format of a secret.
func HasSecretFormat(v string) bool {
	v = v[len(Scheme(v)):]
	v = strings.TrimLeft(v, " ")
	if label, ok := strings.CutPrefix(v, "-----BEGIN "); ok && keyLabel(label) > 0 {
		return true
	}
	return v != "" && formatLength(v) > 0
}
