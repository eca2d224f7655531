package mcpconfig

// Policy names the policies of indus serve: the members "policy" and "policyMode" of a file. If it is Broken, no
// request may be served.
type Policy struct {
	Setting
	// Path is a file of Cedar policies, or a directory of them. It is absolute if the path of the configuration is.
	Path string
	// Report is set if the policies are evaluated and nothing is denied ("policyMode": "report").
	Report bool
}

// Equal reports whether a and b have the same settings. File and Line do not count.
func (a *Policy) Equal(b *Policy) bool { return equalSettings(a, b) }
