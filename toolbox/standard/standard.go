package standard

import "github.com/indusagi/indus/toolbox"

// Tools are all the tools of this package. Today each of them only reads.
func Tools() []toolbox.Tool { return ReadOnly() }

// ReadOnly are the tools that change nothing: read, ls, grep and find.
func ReadOnly() []toolbox.Tool {
	return []toolbox.Tool{Read(), Ls(), Grep(), Find()}
}
