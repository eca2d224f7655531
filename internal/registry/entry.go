package registry

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// Entry is one version of a server as a registry lists it (server.json, 2025-12-11).
type Entry struct {
	Name        string      `json:"name"`
	Title       string      `json:"title,omitempty"`
	Description string      `json:"description"`
	Version     string      `json:"version"`
	Packages    []Package   `json:"packages,omitempty"`
	Remotes     []Transport `json:"remotes,omitempty"`

	// Status is "active", "deprecated" or "deleted". It is "" if the registry does not state it.
	Status string `json:"-"`

	local bool // the registry is on this machine
}

// Package is a program that a package manager can fetch and start.
type Package struct {
	Type             string     `json:"registryType"`
	BaseURL          string     `json:"registryBaseUrl,omitempty"`
	Identifier       string     `json:"identifier"`
	Version          string     `json:"version,omitempty"`
	SHA256           string     `json:"fileSha256,omitempty"`
	Transport        Transport  `json:"transport"`
	RuntimeArguments []Argument `json:"runtimeArguments,omitempty"`
	Arguments        []Argument `json:"packageArguments,omitempty"`
	Environment      []KeyValue `json:"environmentVariables,omitempty"`
}

// Transport is the address of a remote server, or the way to reach a started package.
type Transport struct {
	Type      string           `json:"type"`
	URL       string           `json:"url,omitempty"`
	Headers   []KeyValue       `json:"headers,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"`
}

// Input is a value that the entry gives, or that a person has to give.
type Input struct {
	Description string           `json:"description,omitempty"`
	Required    bool             `json:"isRequired,omitempty"`
	Secret      bool             `json:"isSecret,omitempty"`
	Value       string           `json:"value,omitempty"`
	Default     string           `json:"default,omitempty"`
	Placeholder string           `json:"placeholder,omitempty"`
	Format      string           `json:"format,omitempty"` // "string", "number", "boolean" or "filepath"
	Choices     []string         `json:"choices,omitempty"`
	Variables   map[string]Input `json:"variables,omitempty"` // of {name} in Value
}

// KeyValue is a variable of the environment or a header.
type KeyValue struct {
	Name string `json:"name"`
	Input
}

// Argument is an argument of a command. Type is "positional" or "named".
type Argument struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
	Hint string `json:"valueHint,omitempty"`
	Input
}

// official is the key of the registry's own data about an entry.
const official = "io.modelcontextprotocol.registry/official"

const (
	maxName    = 200
	maxVersion = 255
	maxInputs  = 200 // packages, arguments, variables and headers of one entry
)

var (
	// No part of a name is a path (..) or an option.
	entryName = text.Pattern(`^[a-zA-Z0-9][a-zA-Z0-9.-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*$`)
	// plainVersion has no space and no range operator at its beginning.
	plainVersion = text.Pattern(`^[0-9A-Za-z][0-9A-Za-z.+!_-]*$`)
)

// IsName reports whether a text has the form of an entry's name: a namespace, a slash and a name.
func IsName(name string) bool { return len(name) <= maxName && entryName().MatchString(name) }

// parseEntry reads one element of an answer.
func parseEntry(raw json.RawMessage) (*Entry, error) {
	var element struct {
		Server *Entry                     `json:"server"`
		Meta   map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &element); err != nil {
		return nil, fmt.Errorf("it is no entry: %w", err)
	}
	e := element.Server
	if e == nil {
		return nil, fmt.Errorf(`it has no "server"`)
	}
	var about struct {
		Status string `json:"status"`
	}
	if meta, ok := element.Meta[official]; ok && json.Unmarshal(meta, &about) == nil {
		e.Status = about.Status
	}
	return e, e.check()
}

// check returns an error if the entry cannot be named or has too many parts. [Offer.Row] checks the rest.
func (e *Entry) check() error {
	parts := len(e.Packages) + len(e.Remotes)
	for _, p := range e.Packages {
		parts += len(p.RuntimeArguments) + len(p.Arguments) + len(p.Environment) + len(p.Transport.Headers)
	}
	for _, r := range e.Remotes {
		parts += len(r.Headers) + len(r.Variables)
	}
	switch {
	case !IsName(e.Name):
		return fmt.Errorf("%q is no name of an entry", text.Clip(e.Name, maxName))
	case len(e.Version) > maxVersion || !plainVersion().MatchString(e.Version):
		return fmt.Errorf("%s: %q is no version", e.Name, text.Clip(e.Version, maxVersion))
	case parts > maxInputs:
		return fmt.Errorf("%s has more than %d packages, arguments and variables", e.Name, maxInputs)
	}
	return nil
}

// ShortName returns the name without its namespace.
func (e *Entry) ShortName() string {
	_, short, _ := strings.Cut(e.Name, "/")
	return short
}
