package box

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// registry is a package registry that launchers use: npx and bunx, uvx and pipx, deno, go.
type registry struct {
	defaults  []string // the hosts without settings
	variables []string // environment variables with its addresses. The first of them passes the address into the box.
	files     []string // settings: below the home, unless absolute
	setting   *regexp.Regexp
}

var registries = []registry{
	{
		defaults: []string{"registry.npmjs.org:443"}, variables: []string{"npm_config_registry", "NPM_CONFIG_REGISTRY"},
		files:   []string{"/etc/npmrc", "/usr/etc/npmrc", ".npmrc"},
		setting: regexp.MustCompile(`(?m)^\s*(?:@[^\s:=]+:)?registry\s*=\s*"?([^\s"]+)`),
	},
	{
		defaults:  []string{"pypi.org:443", "files.pythonhosted.org:443"},
		variables: []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"},
		files:     []string{"/etc/pip.conf", "/etc/xdg/pip/pip.conf", ".pip/pip.conf", ".config/pip/pip.conf"},
		setting:   regexp.MustCompile(`(?m)^\s*(?:extra-)?index-url\s*=\s*(\S+)`),
	},
	{
		variables: []string{"UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"},
		files:     []string{"/etc/uv/uv.toml", ".config/uv/uv.toml"},
		setting:   regexp.MustCompile(`(?m)^\s*(?:(?:extra-)?index-)?url\s*=\s*\[?"([^"]+)`),
	},
	{
		defaults:  []string{"proxy.golang.org:443", "sum.golang.org:443"},
		variables: []string{"GOPROXY"}, files: []string{".config/go/env"},
		setting: regexp.MustCompile(`(?m)^GOPROXY=(\S+)`),
	},
	{defaults: []string{"jsr.io:443", "npm.jsr.io:443", "deno.land:443"}},
}

// Registries returns the hosts of the package registries that the launchers of packages use, as "name:port". They come
// from the settings of the user with this home and environment, and are the public registries without settings. The
// variables name the same registries to a launcher in a private home. They have no passwords.
func Registries(home string, env []string) (hosts, variables []string) {
	for _, r := range registries {
		addresses, first := r.addresses(home, env)
		if len(addresses) == 0 {
			hosts = append(hosts, r.defaults...)
		}
		for _, u := range addresses {
			hosts = append(hosts, hostOf(u))
		}
		if first != "" {
			variables = append(variables, r.variables[0]+"="+first)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts), variables
}

// addresses returns the addresses in the settings of a registry. first has those of the first setting that counts.
func (r registry) addresses(home string, env []string) (all []*url.URL, first string) {
	use := func(setting string) {
		var kept []string
		for text := range strings.FieldsFuncSeq(setting, func(c rune) bool { return strings.ContainsRune(", |", c) }) {
			_, address, named := strings.Cut(text, "=https://") // an index of uv may have a name
			if named {
				text = "https://" + address
			}
			u, err := url.Parse(text)
			if err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" {
				u.User = nil
				all = append(all, u)
				kept = append(kept, u.String())
			} else if text == "direct" || text == "off" { // of Go
				kept = append(kept, text)
			}
		}
		if first == "" && len(kept) > 0 && kept[0] != "direct" {
			first = strings.Join(kept, ",")
		}
	}
	for _, name := range r.variables {
		use(lastEntry(env, name))
	}
	for _, file := range slices.Backward(r.files) { // the user's file before that of the machine
		if !filepath.IsAbs(file) {
			if home == "" {
				continue
			}
			file = filepath.Join(home, file)
		}
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			continue
		}
		text, _ := os.ReadFile(file)
		for _, match := range r.setting.FindAllSubmatch(text, -1) {
			use(string(match[1]))
		}
	}
	return all, first
}

// hostOf returns the host and the port of an address.
func hostOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

// lastEntry returns a variable of an environment. The last entry counts.
func lastEntry(env []string, name string) (value string) {
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}
