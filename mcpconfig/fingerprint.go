package mcpconfig

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/interop"
)

// writtenPart is a text of the row as the file has it, its variables not replaced.
type writtenPart struct{ field, name, text string }

// fingerprint is what an approval holds on to. Whoever may write the file can change
// nothing of what runs, how often and for whom, of where something is sent, or of which tools are offered, and
// keep it.
//
// Command, arguments, directory and url count with their variables replaced, so that
// another value of one asks again. The values of env and headers count as they are
// written: LD_PRELOAD=./evil.so is as good as a command, yet a token that comes out of
// a variable may change. So does every text with a ${file:…} or ${cmd:…}, also where a
// default is not needed today. Files of the project count by what they hold. The directory
// around the file counts, because a link to an approved file would let its relative paths
// begin elsewhere.
//
// What a ${cmd:…} gives, or a ${file:…} elsewhere, is not known before the row is approved. If a
// project's row has one where it decides what runs or where it is sent, the fingerprint ends with
// pinSeparator, and behind that comes what it gave: see pinOf.
func (r *reading) fingerprint() string {
	base, err := identity(r.base())
	if err != nil {
		base = r.base()
	}
	p := printer{sha256.New()}
	if r.State == Disabled { // all that it does is to hide others
		p.texts("indus approval 2", base, string(Disabled))
		return hex.EncodeToString(p.Sum(nil))
	}
	p.texts("indus approval 2", base, string(r.Kind))
	if r.taking != "" {
		p.texts("in the project", realPath(r.workspace()))
	}
	p.count(len(r.Files))
	for _, f := range r.Files {
		p.texts(atomicfile.Real(f.Path), f.Text, f.Wrong)
	}
	switch t := r.Server.Transport.(type) {
	case interop.Stdio:
		p.texts(t.Command, t.Dir, fmt.Sprint(t.InheritEnv))
		p.list(t.Args)
	case interop.HTTP:
		p.texts(t.URL)
	case interop.SSE:
		p.texts(t.URL)
	}
	// The order of variables and headers changes nothing.
	slices.SortStableFunc(r.written, func(a, b writtenPart) int {
		return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.name, b.name))
	})
	p.count(len(r.written))
	for _, w := range r.written {
		p.texts(w.field, w.name, w.text)
	}
	p.rules(r.Server.Tools)
	if r.Server.Changes.Guards() { // others have the fingerprint that they had before there was this
		p.texts("changes", string(r.Server.Changes))
	}
	if pool := r.Server.Pool; pool.Per != "" || pool.Instances > 1 { // who shares a process, and how many of them run
		p.texts("pool", pool.Per, fmt.Sprint(pool.Instances))
	}
	if len(r.pinned) > 0 && r.inProject() {
		return hex.EncodeToString(p.Sum(nil)) + pinSeparator
	}
	return hex.EncodeToString(p.Sum(nil))
}

// pinSeparator stands between the fingerprint of what is written, and that of what was fetched for it.
const pinSeparator = "."

// decides reports whether what is fetched for a field decides what runs, or where something is sent.
func decides(field string) bool {
	name, _, _ := strings.Cut(field, "[")
	return slices.Contains([]string{
		"command", "args", "cwd", "url", "oauth.issuer", "oauth.clientMetadataUrl", "oauth.identityProvider.issuer", "tls.ca", "tls.cert", "tls.key",
	}, name)
}

// pinOf returns the fingerprint of what was fetched for the pinned fields of a server.
func pinOf(s interop.Server) string {
	p := printer{sha256.New()}
	switch t := s.Transport.(type) {
	case interop.Stdio:
		p.texts(t.Command, t.Dir)
		p.list(t.Args)
	case interop.HTTP:
		p.texts(t.URL)
	case interop.SSE:
		p.texts(t.URL)
	}
	p.texts(s.OAuth.Issuer, s.OAuth.ClientMetadataURL, s.OAuth.Provider.Issuer, s.TLS.CA, s.TLS.Cert, s.TLS.Key)
	return hex.EncodeToString(p.Sum(nil))
}

// printer hashes texts so that no two lists of them give the same bytes.
type printer struct{ hash.Hash }

func (p printer) count(n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	p.Write(b[:])
}

func (p printer) texts(list ...string) {
	for _, s := range list {
		p.count(len(s))
		p.Write([]byte(s))
	}
}

func (p printer) list(list []string) {
	p.count(len(list))
	p.texts(list...)
}

func (p printer) rules(t interop.ToolRules) {
	p.texts(fmt.Sprint(t.Allow == nil))
	p.list(t.Allow)
	p.list(t.Deny)
	for _, m := range []map[string]string{t.Rename, t.Describe} {
		p.count(len(m))
		for _, name := range slices.Sorted(maps.Keys(m)) {
			p.texts(name, m[name])
		}
	}
}

// unmark takes the marks out, so that the server reads as the file does.
func (r *reading) unmark() {
	s := &r.Server
	o := &s.OAuth
	for _, text := range []*string{
		&o.ClientID, &o.ClientMetadataURL, &o.Issuer, &o.RedirectURI, &o.Account, &o.PrivateKeyID, &o.SubjectTokenType, &o.Provider.Issuer, &o.Provider.ClientID,
		&s.TLS.CA, &s.TLS.Cert, &s.TLS.Key,
	} {
		*text = withoutMarks(*text)
	}
	for _, one := range o.Secrets() {
		*one = interop.NewSecret(withoutMarks(one.Reveal()))
	}
	switch t := r.Server.Transport.(type) {
	case interop.Stdio:
		t.Command, t.Dir = withoutMarks(t.Command), withoutMarks(t.Dir)
		for i := range t.Args {
			t.Args[i] = withoutMarks(t.Args[i])
		}
		for i := range r.Server.Identity {
			r.Server.Identity[i] = interop.NewSecret(withoutMarks(r.Server.Identity[i].Reveal()))
		}
		unmarkPairs(t.Env)
		r.Server.Transport = t
	case interop.HTTP:
		t.URL = withoutMarks(t.URL)
		unmarkPairs(t.Headers)
		r.Server.Transport = t
	case interop.SSE:
		t.URL = withoutMarks(t.URL)
		unmarkPairs(t.Headers)
		r.Server.Transport = t
	}
}

func unmarkPairs(pairs []interop.Pair) {
	for i, p := range pairs {
		pairs[i].Value = interop.NewSecret(withoutMarks(p.Value.Reveal()))
	}
}
