package proc

import (
	"cmp"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Environ builds the environment of a child from ours (parent, as from os.Environ) and from extra
// entries ("KEY=value"), which win. From ours the child gets only the variables that a program
// needs to find its home and its language: PATH, HOME, the user, SHELL, TERM, TMPDIR, TZ and the
// locale. On Windows it gets the folders of the system and the user. With inherit it gets all
// variables.
//
// Relative directories in our PATH are left out. Entries without "=" are left out, and without
// inherit so are the functions that bash exports. The result is sorted by key and never nil.
func Environ(parent, extra []string, inherit bool) []string {
	chosen := map[string]string{} // folded key to entry
	for _, entry := range parent {
		key, value, ok := cutEntry(entry)
		if ok && (inherit || isBasic(foldKey(key)) && !strings.HasPrefix(value, "()")) {
			chosen[foldKey(key)] = entry
		}
		if foldKey(key) == "PATH" { // relative entries would resolve in the child's directory, perhaps a foreign repository
			dirs := slices.DeleteFunc(filepath.SplitList(value), func(dir string) bool { return !filepath.IsAbs(dir) })
			chosen["PATH"] = key + "=" + cmp.Or(strings.Join(dirs, string(filepath.ListSeparator)), defaultPath)
		}
	}
	for _, entry := range extra {
		if key, _, ok := cutEntry(entry); ok {
			chosen[foldKey(key)] = entry
		}
	}
	env := make([]string, 0, len(chosen))
	for _, key := range slices.Sorted(maps.Keys(chosen)) {
		env = append(env, chosen[key])
	}
	return env
}

// Without returns env without the entries of these keys.
func Without(env []string, keys ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		key, _, ok := cutEntry(entry)
		return ok && slices.ContainsFunc(keys, func(k string) bool { return foldKey(k) == foldKey(key) })
	})
}

// cutEntry splits "KEY=value". Windows has keys that begin with "=".
func cutEntry(entry string) (key, value string, ok bool) {
	if entry == "" {
		return "", "", false
	}
	key, value, ok = strings.Cut(entry[1:], "=")
	return entry[:1] + key, value, ok
}

func isBasic(key string) bool {
	return strings.HasPrefix(key, "LC_") || slices.Contains(strings.Fields(basicKeys), key)
}

const onWindows = runtime.GOOS == "windows"

// foldKey returns the key for comparison, because Windows ignores case.
func foldKey(key string) string {
	if onWindows {
		return strings.ToUpper(key)
	}
	return key
}

// basicKeys lists the variables that every program needs. __CF_USER_TEXT_ENCODING is the locale of
// macOS.
var basicKeys = map[bool]string{
	false: "HOME LANG LANGUAGE LOGNAME PATH SHELL TERM TMPDIR TZ USER __CF_USER_TEXT_ENCODING",
	true: "ALLUSERSPROFILE APPDATA COMMONPROGRAMFILES COMPUTERNAME COMSPEC HOMEDRIVE HOMEPATH LANG LOCALAPPDATA " +
		"NUMBER_OF_PROCESSORS OS PATH PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) " +
		"PROGRAMW6432 PUBLIC SYSTEMDRIVE SYSTEMROOT TEMP TERM TMP TZ USERDOMAIN USERNAME USERPROFILE WINDIR",
}[onWindows]
