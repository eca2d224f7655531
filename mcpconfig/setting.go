package mcpconfig

import "reflect"

// Setting is the part that all settings have.
type Setting struct {
	// File and Line are the position of the setting.
	File string
	Line int
	// Broken is set if the setting cannot be read. [Auth], [Policy], [Audit] and [Registries] are also broken if a file
	// of the user that may have them cannot be read. A note has the reason.
	Broken bool
}

func (s *Setting) place() *Setting { return s }

// anySetting is a pointer to a setting as one file has it.
type anySetting[T any] interface {
	*T
	place() *Setting
}

// equalSettings reports whether two settings are the same. Their positions do not count.
func equalSettings[T any, S anySetting[T]](a, b S) bool {
	if a == nil || b == nil {
		return a == b
	}
	other := *b
	at := S(&other).place()
	at.File, at.Line = a.place().File, a.place().Line
	return reflect.DeepEqual(*a, other)
}
