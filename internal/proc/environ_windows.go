package proc

import "strings"

// foldKey is what a key is compared by: Windows ignores its case.
func foldKey(key string) string { return strings.ToUpper(key) }

func basic() []string {
	return []string{
		"ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMPUTERNAME", "COMSPEC", "HOMEDRIVE", "HOMEPATH",
		"LANG", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
		"PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT",
		"TEMP", "TERM", "TMP", "TZ", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR",
	}
}
