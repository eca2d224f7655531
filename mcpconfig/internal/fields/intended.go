package fields

import (
	"maps"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// foreignWords are the words of other programs for the keys of a row, in lower case.
var foreignWords = map[string]string{
	"url": "serverurl httpurl uri endpoint", "command": "cmd executable", "args": "arguments", "env": "environment envs",
	"envFile": "env_file dotenv", "headers": "http_headers", "cwd": "workdir workingdirectory working_directory",
	"sandbox": "sandboxed sandboxing sandboxenabled confine confinement",
	"tools":   "includetools excludetools enabledtools disabledtools enabled_tools disabled_tools allowedtools",
}

// IntendedKey returns the key that was probably meant by a wrong one: a misspelt key, or another program's word.
func IntendedKey(name string) string {
	for key, words := range foreignWords {
		if slices.Contains(strings.Fields(words), strings.ToLower(name)) {
			return key
		}
	}
	if near := text.Nearest(name, Names(Row()), 1); len(near) == 1 {
		return near[0]
	}
	return ""
}

// IntendedMember returns the name of the member of a file that an unknown name probably means. It returns "" for a
// known name, and for a name of another program.
func IntendedMember(name string) string {
	known := Names(File())
	if slices.Contains(known, name) {
		return ""
	}
	plain := strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "", ".", "").Replace(name))
	if meant := similarMembers[plain]; meant != "" {
		return meant
	}
	for _, near := range text.Nearest(name, known, 1) {
		if d := len(near) - len(name); d*d <= 1 || strings.EqualFold(near, name) {
			return near
		}
	}
	for begins, meant := range map[string]string{"audit": "audit", "polic": "policy", "approv": "approvals"} {
		if strings.HasPrefix(plain, begins) {
			return meant
		}
	}
	for _, near := range text.Nearest(plain, slices.Sorted(maps.Keys(similarMembers)), 1) {
		if d := len(near) - len(plain); d*d <= 1 && len(plain) > 8 {
			return similarMembers[near]
		}
	}
	return ""
}

// similarMembers are names in lower case that people write for a member that protects requests.
var similarMembers = map[string]string{
	"authentication": "auth", "authorization": "auth", "authn": "auth", "authz": "auth", "auths": "auth",
	"policies": "policy", "policyfile": "policy", "policyfiles": "policy", "policypath": "policy", "policydir": "policy",
	"auditlog": "audit", "auditfile": "audit", "auditpath": "audit", "audits": "audit", "auditing": "audit",
	"sandbox": "sandboxDefault", "sandboxes": "sandboxDefault", "defaultsandbox": "sandboxDefault",
	"projectsandbox": "sandboxProject", "sandboxprojects": "sandboxProject",
	"approval": "approvals", "callapprovals": "approvals", "approve": "approvals",
}
