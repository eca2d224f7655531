package rank

import "strings"

// stem takes the endings of English off a word in lower case, lightly: "files", "filed" and
// "filing" meet, "status" and "process" stay. It need not be right, only the same for a
// query and a document.
func stem(w string) string {
	if len(w) < 4 {
		return w
	}
	w = singular(w)
	switch {
	case strings.HasSuffix(w, "ied") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "ed") && len(w) > 4 && hasVowel(w[:len(w)-2]):
		w = undouble(w[:len(w)-2])
	case strings.HasSuffix(w, "ing") && len(w) > 5 && hasVowel(w[:len(w)-3]):
		w = undouble(w[:len(w)-3])
	case strings.HasSuffix(w, "tion") && len(w) > 5, strings.HasSuffix(w, "sion") && len(w) > 5:
		w = w[:len(w)-3]
	}
	if strings.HasSuffix(w, "e") && len(w) > 3 {
		w = w[:len(w)-1]
	}
	return w
}

func singular(w string) string {
	switch {
	case !strings.HasSuffix(w, "s"), strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "sses"):
		return w[:len(w)-2]
	}
	return w[:len(w)-1]
}

func hasVowel(w string) bool { return strings.ContainsAny(w, "aeiouy") }

// undouble is "runn" to "run", and leaves "call" and "pass".
func undouble(w string) string {
	n := len(w)
	if n > 2 && w[n-1] == w[n-2] && strings.IndexByte("bdgmnprt", w[n-1]) >= 0 {
		return w[:n-1]
	}
	return w
}
