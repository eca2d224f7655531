package registry

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/text"
)

const (
	maxBundle     = 256 << 20 // bytes of a file
	maxUnpacked   = 1 << 30   // bytes of its content
	maxFiles      = 50_000
	maxManifest   = 1 << 20
	bundleTime    = 10 * time.Minute // of a download
	bundleFile    = "manifest.json"
	bundleDirMode = 0o700
)

// Bundle is a downloaded MCPB file with the right hash. Nothing of it has run.
type Bundle struct {
	dir      string // where Unpack writes the files
	files    *zip.Reader
	manifest manifest
}

// manifest is the part of manifest.json (MCPB 0.3) that a row needs.
type manifest struct {
	Server struct {
		Config struct {
			mcpConfig
			Platforms map[string]mcpConfig `json:"platform_overrides"`
		} `json:"mcp_config"`
	} `json:"server"`
	UserConfig map[string]struct {
		Title       string `json:"title"`
		Description string `json:"description"`
		Required    bool   `json:"required"`
		Sensitive   bool   `json:"sensitive"`
		Default     any    `json:"default"`
	} `json:"user_config"`
}

type mcpConfig struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

var sha256Hex = text.Pattern(`^[a-f0-9]{64}$`)

// Download reads the file of an mcpb package and checks its hash. [Bundle.Unpack] writes it below root, in a directory
// that is named for the hash.
func (o Offer) Download(ctx context.Context, root string) (*Bundle, error) {
	p := o.Package
	if !sha256Hex().MatchString(p.SHA256) {
		return nil, fmt.Errorf("%q is no hash of a file (fileSha256)", text.Clip(p.SHA256, maxName))
	}
	u, err := parseAddress(p.Identifier, o.local)
	if err != nil {
		return nil, fmt.Errorf("bundle %q: %w", text.Clip(p.Identifier, maxName), err)
	}
	body, err := download(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", u.Host, err)
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != p.SHA256 {
		return nil, fmt.Errorf("bundle %s: the file has the hash %x, and the registry has %s", u.Host, sum, p.SHA256)
	}
	b, err := openBundle(body)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", u.Host, err)
	}
	b.dir = filepath.Join(root, p.SHA256)
	return b, nil
}

// download reads a file. Redirects to other hosts are followed, because the hash decides.
func download(ctx context.Context, u *url.URL) ([]byte, error) {
	client := newHTTP(func(next, first *url.URL) bool {
		_, err := parseAddress(next.String(), first.Scheme == "http")
		return err == nil
	}, bundleTime)
	return fetch(ctx, client, u.String(), "*/*", maxBundle)
}

func openBundle(body []byte) (*Bundle, error) {
	files, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, fmt.Errorf("it is no zip file: %w", err)
	}
	b := &Bundle{files: files}
	var size uint64
	for _, f := range files.File {
		size += f.UncompressedSize64
		if size > maxUnpacked || len(files.File) > maxFiles {
			return nil, errors.New("it has too many files, or too long ones")
		}
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) || strings.Contains(f.Name, `\`) ||
			!f.Mode().IsRegular() && !f.Mode().IsDir() {
			return nil, fmt.Errorf("its file %q is not a plain file below it", text.Clip(f.Name, maxName))
		}
	}
	m, err := files.Open(bundleFile)
	if err != nil {
		return nil, errors.New("it has no " + bundleFile)
	}
	defer m.Close()
	raw, err := io.ReadAll(io.LimitReader(m, maxManifest))
	if err == nil {
		err = json.Unmarshal(raw, &b.manifest)
	}
	if err != nil {
		return nil, fmt.Errorf("its %s: %w", bundleFile, err)
	}
	return b, nil
}

// Unpack writes the files into the directory that the row names. If the directory exists, Unpack does nothing: its name
// is the hash of the files.
func (b *Bundle) Unpack() error {
	if _, err := os.Stat(b.dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(b.dir), bundleDirMode); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(b.dir), "new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	left := int64(maxUnpacked)
	for _, f := range b.files.File {
		if err := unpackFile(f, filepath.Join(fresh, filepath.FromSlash(f.Name)), &left); err != nil {
			return err
		}
	}
	return os.Rename(fresh, b.dir)
}

func unpackFile(f *zip.File, to string, left *int64) error {
	if f.Mode().IsDir() {
		return os.MkdirAll(to, bundleDirMode)
	}
	if err := os.MkdirAll(filepath.Dir(to), bundleDirMode); err != nil {
		return err
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600|f.Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, *left+1))
	if *left -= n; *left < 0 && err == nil {
		err = errors.New("the bundle is longer than it states")
	}
	return errors.Join(err, out.Close())
}

// directory returns where Unpack writes the files, or "" if there is no bundle.
func (b *Bundle) directory() string {
	if b == nil {
		return ""
	}
	return b.dir
}

// command returns the program of a bundle, and a package with its arguments and variables.
func (b *Bundle) command(p *Package) (string, *Package, error) {
	if b == nil {
		return "", nil, errors.New("the bundle is not downloaded")
	}
	config := b.manifest.Server.Config.mcpConfig
	platform := strings.Replace(runtime.GOOS, "windows", "win32", 1) // the name in a manifest
	if other, ok := b.manifest.Server.Config.Platforms[platform]; ok {
		config.Command = cmp.Or(other.Command, config.Command)
		if other.Args != nil {
			config.Args = other.Args
		}
		if other.Env != nil {
			config.Env = other.Env
		}
	}
	variables := map[string]Input{}
	for name, c := range b.manifest.UserConfig {
		in := Input{Description: cmp.Or(c.Description, c.Title), Required: c.Required, Secret: c.Sensitive}
		if c.Default != nil {
			in.Default = fmt.Sprint(c.Default)
		}
		variables[name] = in
	}
	out := &Package{Type: p.Type}
	for _, a := range config.Args {
		out.Arguments = append(out.Arguments, Argument{
			Type: "positional", Hint: "args", Input: Input{Value: b.template(a), Variables: variables},
		})
	}
	for name, value := range config.Env {
		out.Environment = append(out.Environment, KeyValue{name, Input{Value: b.template(value), Variables: variables}})
	}
	slices.SortFunc(out.Environment, func(a, b KeyValue) int { return strings.Compare(a.Name, b.Name) })
	return b.template(config.Command), out, nil
}

// starts reports whether a program is in the bundle, or is an interpreter for its files.
func (b *Bundle) starts(program string) bool {
	if slices.Contains([]string{"node", "python", "python3", "uv"}, program) {
		return true
	}
	inside, ok := strings.CutPrefix(filepath.ToSlash(program), filepath.ToSlash(b.dir)+"/")
	return ok && checkText(program) == nil && path.Clean(inside) == inside && filepath.IsLocal(inside)
}

var userConfig = text.Pattern(`\$\{user_config\.([A-Za-z_][A-Za-z0-9_.-]*)\}`)

// template turns the variables of a manifest into the form of an entry.
func (b *Bundle) template(s string) string {
	s = strings.NewReplacer("${__dirname}", b.dir, "${/}", string(filepath.Separator),
		"${pathSeparator}", string(filepath.Separator)).Replace(s)
	return userConfig().ReplaceAllString(s, "{$1}")
}
