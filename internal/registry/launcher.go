package registry

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// Names and versions of packages. None can begin with a dash, name a path or a URL, or match several versions.
var (
	npmName     = text.Pattern(`^(@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*$`)
	npmVersion  = text.Pattern(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	pypiName    = text.Pattern(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	pypiVersion = text.Pattern(`^(\d+!)?\d+(\.\d+)*` +
		`([-._]?(a|b|c|rc|alpha|beta|pre|preview|post|rev|r|dev)[-._]?\d*)*(\+[a-z0-9.]+)?$`)
	ociImage  = text.Pattern(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)
	ociTag    = text.Pattern(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	ociDigest = text.Pattern(`^sha256:[a-f0-9]{64}$`)
)

// launchers start packages, by their type. separator stands between the name of a package and its version. npx and uvx
// read the words before the package as their options, and the words behind it as the package's.
var launchers = map[string]struct {
	command   func(*Package) (command string, args []string, err error)
	separator string
}{
	"npm":  {packageCommand(npmName, npmVersion, "@", "npx", "-y"), "@"},
	"pypi": {packageCommand(pypiName, pypiVersion, "==", "uvx"), "=="},
	"oci":  {ociCommand, ":"},
}

// packageCommand returns a function that returns the command line of a package, if its name and version have a form.
func packageCommand(
	name, version func() *regexp.Regexp, separator, program string, options ...string,
) func(*Package) (string, []string, error) {
	return func(p *Package) (string, []string, error) {
		switch {
		case len(p.Identifier) > maxName || !name().MatchString(p.Identifier):
			return "", nil, fmt.Errorf("%q is no name of a package", text.Clip(p.Identifier, maxName))
		case len(p.Version) > maxVersion || !version().MatchString(p.Version):
			return "", nil, fmt.Errorf("%s: %q is no exact version", p.Identifier, text.Clip(p.Version, maxVersion))
		}
		return program, append(slices.Clip(options), p.Identifier+separator+p.Version), nil
	}
}

// ociCommand returns the image as the only argument. Before 2025-12, the registry of the image and its tag were members
// of their own.
func ociCommand(p *Package) (command string, args []string, err error) {
	image := p.Identifier
	if host, ok := strings.CutPrefix(p.BaseURL, "https://"); ok && !strings.HasPrefix(image, host+"/") {
		image = strings.TrimSuffix(host, "/") + "/" + image
	}
	name, tag, digest := splitImage(image)
	if tag == "" && digest == "" && p.Version != "" {
		tag = p.Version
	}
	switch {
	case len(image) > maxName || !ociImage().MatchString(name):
		return "", nil, fmt.Errorf("%q is no name of an image", text.Clip(image, maxName))
	case digest != "" && !ociDigest().MatchString(digest):
		return "", nil, fmt.Errorf("%q has no digest of sha256", text.Clip(image, maxName))
	case digest == "" && (tag == "latest" || !ociTag().MatchString(tag)):
		return "", nil, fmt.Errorf("%s: the tag %q is no exact version", name, text.Clip(tag, maxName))
	}
	if tag != "" {
		name += ":" + tag
	}
	if digest != "" {
		name += "@" + digest
	}
	return "docker", []string{name}, nil
}

// splitImage splits the name of an image from its tag and its digest.
func splitImage(image string) (name, tag, digest string) {
	image, digest, _ = strings.Cut(image, "@")
	if at := strings.LastIndexByte(image, ':'); at > strings.LastIndexByte(image, '/') {
		image, tag = image[:at], image[at+1:]
	}
	return image, tag, digest
}

// Pinned returns the version of the package that a command runs, and the version of this package in the entry. It
// returns false if the command runs no package of the entry.
func (e *Entry) Pinned(command string, args []string) (pinned, newest string, ok bool) {
	for i := range e.Packages {
		l, ok := launchers[e.Packages[i].Type]
		if !ok {
			continue
		}
		program, words, err := l.command(&e.Packages[i])
		if err != nil || program != command {
			continue
		}
		name, version := splitLast(words[len(words)-1], l.separator)
		for _, a := range args {
			if has, v := splitLast(a, l.separator); has == name {
				return v, version, true
			}
		}
	}
	return "", "", false
}

func splitLast(s, separator string) (before, after string) {
	if at := strings.LastIndex(s, separator); at > 0 {
		return s[:at], s[at+len(separator):]
	}
	return s, ""
}
