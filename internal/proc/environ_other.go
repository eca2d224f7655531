//go:build !windows

package proc

// foldKey is what a key is compared by.
func foldKey(key string) string { return key }

func basic() []string {
	return []string{
		"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
		"__CF_USER_TEXT_ENCODING", // the locale of macOS
	}
}
