package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// Offer is one way to use an entry: one of its packages or remotes.
type Offer struct {
	// Kind is the type of the package ("npm", "pypi", "oci", "mcpb" or one that is not supported), or "http" or "sse".
	Kind string
	// Package is nil for a remote.
	Package *Package
	// Remote is nil for a package.
	Remote *Transport
	// Bundle is the downloaded file of an mcpb package: see [Client.Download]. Row needs it.
	Bundle *Bundle

	local bool // the registry is on this machine
}

// Offers returns the ways to use an entry: the packages, and then the remotes.
func (e *Entry) Offers() (all []Offer) {
	for i := range e.Packages {
		all = append(all, Offer{Kind: e.Packages[i].Type, Package: &e.Packages[i], local: e.local})
	}
	for i := range e.Remotes {
		kind := map[string]string{"streamable-http": "http", "sse": "sse"}[e.Remotes[i].Type]
		all = append(all, Offer{Kind: kind, Remote: &e.Remotes[i], local: e.local})
	}
	return all
}

// Optional returns the names of the variables or headers to which a person may give values, and need not.
func (o Offer) Optional() (names []string) {
	all := []KeyValue(nil)
	if o.Remote != nil {
		all = o.Remote.Headers
	} else if o.Package != nil {
		all = o.Package.Environment
	}
	for _, v := range all {
		if !v.Required && v.Value == "" {
			names = append(names, v.Name)
		}
	}
	return names
}

// MissingError lists the values that a row needs from a person.
type MissingError struct{ Inputs []Needed }

// Needed is a value that a person has to give.
type Needed struct {
	Name string
	Input
}

// Error names the values.
func (m *MissingError) Error() string {
	var names []string
	for _, n := range m.Inputs {
		names = append(names, n.Name)
	}
	return "it needs " + strings.Join(names, ", ")
}

// Row returns the row of a configuration for the server id. values holds the values that a person gave: by the name of
// a variable or header, by the name of an argument without its dashes, or by the hint of a positional argument. They
// may contain variables of the configuration, ${NAME}. A secret without a value becomes such a variable.
//
// If values are missing, Row returns a [*MissingError].
func (o Offer) Row(id string, values map[string]string) (json.RawMessage, error) {
	b := &builder{id: id, values: values, used: map[string]bool{}, declared: map[string]bool{}}
	var made configRow
	if o.Remote != nil {
		made = b.remote(o)
	} else {
		made = b.command(o)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !b.used[name] {
			b.fail("it has no value %q%s", name, b.takesText())
		}
	}
	switch {
	case b.err != nil:
		return nil, b.err
	case len(b.missing) > 0:
		return nil, &MissingError{b.missing}
	}
	return text.JSON(made)
}

// configRow is a row of a configuration.
type configRow struct {
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	URL       string            `json:"url,omitempty"`
	Transport string            `json:"transport,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
}

// builder builds one row. Its first error ends the building.
type builder struct {
	id     string
	values map[string]string
	used   map[string]bool // the values that were used
	// declared has the names of the inputs of the entry.
	declared map[string]bool
	takes    []string // those for which a person may give a value
	bundle   string   // the directory of the bundle that the launcher runs; "": it fetches a package
	missing  []Needed
	err      error
}

func (b *builder) fail(format string, arguments ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, arguments...)
	}
}

var (
	headerName   = text.Pattern("^[A-Za-z0-9!#$&'*+.^_`|~-]{1,100}$")
	variableName = text.Pattern(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)
	placeholder  = text.Pattern(`\{([A-Za-z_][A-Za-z0-9_.-]*)\}`)
	notInNames   = text.Pattern(`[^A-Za-z0-9]+`)
)

// remote returns the row of a server with a URL.
func (b *builder) remote(o Offer) configRow {
	t, out := o.Remote, configRow{Headers: map[string]string{}}
	switch o.Kind {
	case "sse":
		out.Transport = o.Kind
	case "":
		b.fail("its transport %q is not supported: there are streamable-http and sse", text.Clip(t.Type, maxName))
		return out
	}
	out.URL, _ = b.value("url", Input{Value: t.URL, Required: true, Variables: t.Variables}, true)
	if len(b.missing) == 0 {
		if _, err := parseAddress(withoutVariables(out.URL), o.local); err != nil {
			b.fail("its URL %q: %w", text.Clip(out.URL, maxName), err)
		}
	}
	for _, h := range t.Headers {
		if !headerName().MatchString(h.Name) {
			b.fail("%q is no name of a header", text.Clip(h.Name, maxName))
		}
		if value, ok := b.value(h.Name, h.Input, true); ok {
			out.Headers[h.Name] = value
		}
	}
	return out
}

// withoutVariables returns a text with a letter in the place of each variable.
func withoutVariables(s string) string {
	for at := text.VariableIndex(s); at < len(s); at = text.VariableIndex(s) {
		s = s[:at] + "x" + s[at+text.VariableLength(s[at:]):]
	}
	return s
}

// command returns the row of a server that is started.
func (b *builder) command(o Offer) (out configRow) {
	p := o.Package
	if t := p.Transport.Type; t != "" && t != "stdio" {
		b.fail("the package serves %s itself: start it, and add its URL", text.Clip(t, maxName))
		return out
	}
	out.Env = map[string]string{}
	l, isLaunched := launchers[p.Type]
	var err error
	switch {
	case isLaunched:
		out.Command, out.Args, err = l.command(p)
	case p.Type == "mcpb":
		b.bundle = o.Bundle.directory()
		if out.Command, p, err = o.Bundle.command(p); err == nil && !o.Bundle.starts(out.Command) {
			err = fmt.Errorf("its command %q is neither in the bundle nor node, python3 or uv", text.Clip(out.Command, maxName))
		}
	default:
		err = fmt.Errorf("packages of the type %q are not supported: there are npm, pypi, oci and mcpb",
			text.Clip(p.Type, maxName))
	}
	if err != nil {
		b.fail("%w", err)
		return out
	}
	b.environment(p, out.Env)
	b.runtime(p, out.Env)
	words := b.arguments(p.Arguments)
	b.further(out.Env)
	if p.Type == "oci" {
		image := out.Args[0]
		out.Args = []string{"run", "-i", "--rm"}
		for _, name := range slices.Sorted(maps.Keys(out.Env)) {
			out.Args = append(out.Args, "-e", name)
		}
		out.Args = append(out.Args, image)
	}
	out.Args = append(out.Args, words...)
	return out
}

// environment adds the variables of a package.
func (b *builder) environment(p *Package, env map[string]string) {
	for _, v := range p.Environment {
		if value, ok := b.value(v.Name, v.Input, false); ok {
			b.setVariable(env, v.Name, value)
		}
	}
}

// further adds the variables that a person gave and the entry does not declare.
func (b *builder) further(env map[string]string) {
	for name, value := range b.values {
		if !b.used[name] && !b.declared[name] && variableName().MatchString(name) {
			b.used[name], env[name] = true, value
		}
	}
}

// setVariable adds a variable. The entry may not set variables that the launcher reads: they are like options.
func (b *builder) setVariable(env map[string]string, name, value string) {
	if !variableName().MatchString(name) {
		b.fail("%q is no name of a variable", text.Clip(name, maxName))
	}
	if _, given := b.values[name]; !given && readByLauncher(name) && !b.isOwnPath(name, value) {
		b.fail("it sets the variable %s, which changes how the package is fetched or started; give a value yourself", name)
	}
	env[name] = value
}

// isOwnPath reports whether a variable names only directories of the bundle in which its own modules are looked up.
func (b *builder) isOwnPath(name, value string) bool {
	if b.bundle == "" || !slices.Contains([]string{"PYTHONPATH", "NODE_PATH"}, name) {
		return false
	}
	for _, dir := range filepath.SplitList(value) {
		inside, err := filepath.Rel(b.bundle, dir)
		if err != nil || !filepath.IsLocal(inside) {
			return false
		}
	}
	return value != ""
}

// launcherVariables are the beginnings of variables that change how a package is fetched or started.
var launcherVariables = strings.Fields("npm_ node_ uv_ pip_ python docker_ podman_ ld_ dyld_ ssl_ git_ path home " +
	"tmpdir http_proxy https_proxy all_proxy no_proxy bash_env env shellopts ifs xdg_ appdata comspec systemroot " +
	"userprofile homedrive homepath localappdata programdata pathext windir openssl_ gconv_path glibc_tunables " +
	"container_host containers_ registry_auth_file netrc curl_ sslkeylogfile tmp temp java_tool_options _java_options " +
	"jdk_java_options classpath perl5opt perl5lib perllib rubyopt rubylib bundle_ gem_ lua_init php_ini_scan_dir " +
	"dotnet_ coreclr_ complus_ cor_profiler cor_profiler_ cor_enable_profiling deno_ bun_ psmodulepath zdotdir")

// plainVariables are variables of launchers that choose no code and no address.
var plainVariables = strings.Fields("node_env pythonunbuffered pythonioencoding pythonutf8 pythondontwritebytecode")

func readByLauncher(name string) bool {
	name = strings.ToLower(name)
	return !slices.Contains(plainVariables, name) && slices.ContainsFunc(launcherVariables, func(v string) bool {
		return name == v || strings.HasPrefix(name, v) && (v == "python" || strings.HasSuffix(v, "_"))
	})
}

// runtime returns the variables of the arguments for the launcher. Other options of the launcher are refused, except
// those that every row has.
func (b *builder) runtime(p *Package, env map[string]string) {
	for _, a := range p.RuntimeArguments {
		name := a.Name
		if a.Type != "named" {
			name = a.Value
		}
		switch {
		case p.Type == "npm" && (name == "-y" || name == "--yes"):
		case p.Type == "oci" && slices.Contains([]string{"run", "-i", "--interactive", "--rm", "--init"}, name):
		case p.Type == "oci" && a.Type == "named" && (name == "-e" || name == "--env"):
			b.runtimeVariable(a, env)
		case a.Required || a.Value != "" || name != "":
			b.fail("it wants the option %q of its launcher, which indus takes from no registry; write the row yourself: "+
				"indus mcp add NAME -- COMMAND", text.Clip(name, maxName))
		}
	}
}

// runtimeVariable returns the variable of an argument "-e NAME=VALUE".
func (b *builder) runtimeVariable(a Argument, env map[string]string) {
	name, value, ok := strings.Cut(a.Value, "=")
	in := a.Input
	if in.Value = value; !ok {
		in.Value = in.Default
	}
	if value, ok := b.value(name, in, false); ok {
		b.setVariable(env, name, value)
	}
}

// arguments returns the words of a package's arguments.
func (b *builder) arguments(all []Argument) (words []string) {
	for _, a := range all {
		switch a.Type {
		case "positional":
			if value, ok := b.value(a.Hint, a.Input, true); ok {
				words = append(words, value)
			}
		case "named":
			words = append(words, b.named(a)...)
		default:
			b.fail("%q is no type of an argument", text.Clip(a.Type, maxName))
		}
	}
	return words
}

// named returns the words of a flag: "--name=value" in one word, and "-n value" in two. A flag without a value stands
// alone.
func (b *builder) named(a Argument) []string {
	key := strings.TrimLeft(a.Name, "-")
	if key == "" || strings.ContainsAny(a.Name, " =") || checkText(a.Name) != nil {
		b.fail("%q is no name of an argument", text.Clip(a.Name, maxName))
		return nil
	}
	if _, given := b.values[key]; !given && a.isFlag() {
		b.declared[key] = true
		return []string{a.Name}
	}
	value, ok := b.value(key, a.Input, true)
	switch {
	case ok && value == "":
		return []string{a.Name}
	case !ok:
		return nil
	case strings.HasPrefix(a.Name, "--"):
		return []string{a.Name + "=" + value}
	}
	return []string{a.Name, value}
}

// isFlag reports whether a named argument takes no value: the entry has neither a value nor anything about one. A
// required argument with a description is asked for: the answer "" stands for the flag alone.
func (a Argument) isFlag() bool {
	isAsked := a.Required && a.Description != ""
	return !isAsked && a.Value+a.Default+a.Hint+a.Placeholder+a.Format == "" && !a.Secret &&
		len(a.Choices) == 0 && len(a.Variables) == 0
}

// value returns the value of an input: the value that a person gave under key, the value of the entry, a variable for a
// secret, or the default if the input is required. It returns false if there is none. A required input without a value
// is missing. If prefixed is true, the name of a secret's variable begins with the id of the server: otherwise an entry
// could choose any variable of the environment, and have it sent to its address.
func (b *builder) value(key string, in Input, prefixed bool) (string, bool) {
	b.declared[key] = true
	if in.Value == "" && key != "" {
		b.takes = append(b.takes, key)
	}
	if given, ok := b.values[key]; ok && in.Value == "" {
		b.used[key] = true
		return given, b.choose(key, given, in.Choices)
	}
	switch {
	case in.Value != "":
		return b.fill(in)
	case in.Required && in.Secret:
		return "${" + b.secretName(key, prefixed) + "}", true
	case in.Required && in.Default != "":
		return b.ownText(in.Default), true
	case in.Required && key == "":
		b.fail("a required argument has neither a value nor a name (valueHint)")
	case in.Required:
		b.missing = append(b.missing, Needed{key, in})
	}
	return "", false
}

// takesText names the values that the entry takes.
func (b *builder) takesText() string {
	if len(b.takes) == 0 {
		return ": it takes none"
	}
	slices.Sort(b.takes)
	return ": it takes " + text.Clip(strings.Join(slices.Compact(b.takes), ", "), maxName)
}

// choose reports whether a given value is one of the choices.
func (b *builder) choose(key, given string, choices []string) bool {
	if len(choices) > 0 && !slices.Contains(choices, given) && text.VariableIndex(given) == len(given) {
		b.fail("%s must be one of %s", key, text.Clip(strings.Join(choices, ", "), maxName))
	}
	return true
}

func (b *builder) secretName(key string, prefixed bool) string {
	if !prefixed && variableName().MatchString(key) {
		return key
	}
	return strings.ToUpper(strings.Trim(notInNames().ReplaceAllString(b.id+"_"+key, "_"), "_"))
}

// fill replaces each {name} in a value. Names that are not among the variables stay as they are. A variable of the
// configuration may stand only in a part that a person gave, or in the place of a secret.
func (b *builder) fill(in Input) (filled string, complete bool) {
	complete = true
	var own [][2]int // the parts that are not the entry's
	rest := in.Value
	for rest != "" {
		if len(rest) > maxText || len(filled) > maxText {
			b.fail("its value %q has more than %d bytes", text.Clip(in.Value, maxName), maxText)
			return "", false
		}
		before, name, after := nextPlaceholder(rest, in.Variables)
		filled, rest = filled+b.ownText(before), after
		if name == "" {
			continue
		}
		inner := in.Variables[name]
		inner.Required = inner.Required || in.Required || inner.Default != "" || inner.Secret
		inner.Variables = nil
		value, ok := b.value(name, inner, true)
		complete = complete && ok
		if _, given := b.values[name]; given || inner.Secret && inner.Value == "" {
			own = append(own, [2]int{len(filled), len(filled) + len(value)})
		}
		filled += value
	}
	for at := text.VariableIndex(filled); at < len(filled); at += text.VariableIndex(filled[at:]) {
		end := at + text.VariableLength(filled[at:])
		if !slices.ContainsFunc(own, func(part [2]int) bool { return part[0] <= at && end <= part[1] }) {
			b.fail("its value %q becomes a variable of the configuration", text.Clip(in.Value, maxName))
		}
		at = end
	}
	return filled, complete
}

// nextPlaceholder returns the name of the first {name} in a text that is among the variables, and the text before and
// after it. If there is none, before is the text.
func nextPlaceholder(s string, variables map[string]Input) (before, name, after string) {
	for _, at := range placeholder().FindAllStringSubmatchIndex(s, -1) {
		if _, ok := variables[s[at[2]:at[3]]]; ok {
			return s[:at[0]], s[at[2]:at[3]], s[at[1]:]
		}
	}
	return s, "", ""
}

// maxText bounds the bytes of a text of an entry that becomes part of a row.
const maxText = 4096

// ownText returns a text of the entry. It must have no variable of the configuration, which could run a command.
func (b *builder) ownText(s string) string {
	if err := checkText(s); err != nil {
		b.fail("its value %q: %w", text.Clip(s, maxName), err)
	}
	return s
}

func checkText(s string) error {
	switch {
	case len(s) > maxText:
		return fmt.Errorf("it has more than %d bytes", maxText)
	case strings.Contains(s, "${"):
		return errors.New(`it has "${", and no registry writes variables`)
	case strings.ContainsFunc(s, text.Harmful) || strings.ContainsAny(s, "\n\r\t\x00"):
		return errors.New("it has control characters")
	}
	return nil
}
