package mcpconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// rowKeys are those that a row may have.
func rowKeys() []string {
	return []string{
		"name", "id", "command", "args", "env", "envFile", "cwd", "inheritEnv", "url", "headers", "oauth", "tls", "forwardHeaders", "authorization",
		"transport", "type", "era", "timeout", "lazy", "idle", "per", "instances", "maxPrincipals", "maxConcurrent", "maxQueue",
		"tools", "changes", "profile", "enabled", "disabled",
	}
}

// collect sorts the members of a row by name; of two the later counts.
func (r *reading) collect() {
	known, seen := rowKeys(), map[string]*hujson.Value{}
	for name, m := range tree.Members(r.v) {
		if before := seen[name]; before != nil {
			r.twice = append(r.twice, before)
			delete(r.fields, name)
		}
		seen[name] = &m.Name
		switch {
		case slices.Contains(known, name):
			if m.Value.Value.Kind() != 'n' {
				r.fields[name] = &m.Value
			}
		case !tree.IsComment(name):
			r.extra = append(r.extra, &m.Name)
		}
	}
}

// noteUnknown notes the names that do nothing.
func (r *reading) noteUnknown() {
	for _, v := range r.twice {
		if tree.Text(*v) != "tools" { // which is more than a note
			r.note(v.StartOffset, tree.Quote(tree.Text(*v))+" comes again in this row; the last counts", "")
		}
	}
	for _, v := range r.extra[:min(len(r.extra), maxNotes+1)] {
		name, hint := tree.Text(*v), ""
		if meant := meantKey(name); meant != "" {
			hint = fmt.Sprintf("did you mean %q?", meant)
		}
		r.note(v.StartOffset, "unknown key "+tree.Quote(name), hint)
	}
}

// meantKey is the key that a wrong one stands for: mistyped, or another program's word.
func meantKey(name string) string {
	switch strings.ToLower(name) {
	case "serverurl", "httpurl", "uri", "endpoint":
		return "url"
	case "cmd", "executable":
		return "command"
	case "arguments":
		return "args"
	case "environment", "envs":
		return "env"
	case "env_file", "dotenv":
		return "envFile"
	case "http_headers":
		return "headers"
	case "workdir", "workingdirectory", "working_directory":
		return "cwd"
	case "includetools", "excludetools", "enabledtools", "disabledtools", "enabled_tools", "disabled_tools", "allowedtools":
		return "tools"
	}
	if near := text.Nearest(name, rowKeys(), 1); len(near) == 1 {
		return near[0]
	}
	return ""
}
