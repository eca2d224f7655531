package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// pkgVersion is a version of a package in a file of a script: a list of them, of which the last one of a name is the
// newest. Files are contents by path; a content "@FILE" is that of a file of the script.
type pkgVersion struct {
	Ecosystem    string // npm, or pypi for a wheel
	Name         string
	Version      string
	Files        map[string]string
	Bin          string            // the program of an npm package, or "module:function" of a wheel
	Scripts      map[string]string // of npm
	Dependencies map[string]string
}

// startPackages serves the APIs of npm's registry and of PyPI from a file of the script, which is read at each request.
// npm and pip of the script use it, with an empty cache.
func startPackages(ts *testscript.TestScript, args []string) {
	file := ts.MkAbs(args[0])
	work := ts.Getenv("WORK")
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, err := readPackages(file, ts.MkAbs)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		servePackages(w, r, all, s.URL)
	})
	s.Start()
	ts.Defer(s.Close)
	for name, value := range map[string]string{
		"npm_config_registry": s.URL, "npm_config_cache": work + "/npm-cache", "npm_config_userconfig": os.DevNull,
		"npm_config_update_notifier": "false",
		"PIP_INDEX_URL":              s.URL + "/simple/", "PIP_CONFIG_FILE": os.DevNull, "PIP_FIND_LINKS": "", "PIP_CERT": "",
		"PIP_CACHE_DIR": work + "/pip-cache",
	} {
		ts.Setenv(name, value)
	}
}

func readPackages(file string, path func(string) string) (all []pkgVersion, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	for _, p := range all {
		for name, content := range p.Files {
			if from, ok := strings.CutPrefix(content, "@"); ok {
				text, err := os.ReadFile(path(from))
				if err != nil {
					return nil, err
				}
				p.Files[name] = string(text)
			}
		}
	}
	return all, err
}

func servePackages(w http.ResponseWriter, r *http.Request, all []pkgVersion, base string) {
	name := strings.Trim(r.URL.Path, "/")
	for _, p := range all {
		switch {
		case p.Ecosystem == "npm" && name == p.tarball():
			_, _ = w.Write(p.tgz())
			return
		case p.Ecosystem == "pypi" && name == "wheels/"+p.wheelName():
			_, _ = w.Write(p.wheel())
			return
		}
	}
	simple, isSimple := strings.CutPrefix(name, "simple/")
	versions := slices.DeleteFunc(slices.Clone(all), func(p pkgVersion) bool {
		return isSimple != (p.Ecosystem == "pypi") || p.Name != name && (!isSimple || p.Name != simple)
	})
	if len(versions) == 0 {
		http.NotFound(w, r)
		return
	}
	if isSimple {
		w.Header().Set("Content-Type", "text/html")
		for _, p := range versions {
			fmt.Fprintf(w, "<a href=\"%s/wheels/%s#sha256=%x\">%[2]s</a>\n", base, p.wheelName(), sha256.Sum256(p.wheel()))
		}
		return
	}
	out := map[string]any{}
	for _, p := range versions {
		sum := sha512.Sum512(p.tgz())
		m := p.manifest()
		m["dist"] = map[string]string{
			"tarball": base + "/" + p.tarball(), "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		}
		if p.Scripts["install"] != "" || p.Scripts["postinstall"] != "" {
			m["hasInstallScript"] = true
		}
		out[p.Version] = m
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"name": name, "dist-tags": map[string]string{"latest": versions[len(versions)-1].Version}, "versions": out,
	})
}

func (p pkgVersion) tarball() string {
	return p.Name + "/-/" + path.Base(p.Name) + "-" + p.Version + ".tgz"
}

func (p pkgVersion) manifest() map[string]any {
	return map[string]any{
		"name": p.Name, "version": p.Version, "bin": map[string]string{path.Base(p.Name): p.Bin}, "scripts": p.Scripts,
		"dependencies": p.Dependencies,
	}
}

// tgz returns the same bytes at each call.
func (p pkgVersion) tgz() []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	add := func(name string, text []byte) {
		_ = archive.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(text))})
		_, _ = archive.Write(text)
	}
	manifest, _ := json.Marshal(p.manifest())
	add("package.json", manifest)
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		add(name, []byte(p.Files[name]))
	}
	archive.Close()
	zipped.Close()
	return out.Bytes()
}

func (p pkgVersion) module() string    { return strings.ReplaceAll(p.Name, "-", "_") }
func (p pkgVersion) wheelName() string { return p.module() + "-" + p.Version + "-py3-none-any.whl" }

func (p pkgVersion) wheel() []byte {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	add := func(name, text string) {
		w, _ := archive.Create(name)
		_, _ = w.Write([]byte(text))
	}
	info := p.module() + "-" + p.Version + ".dist-info/"
	metadata := "Metadata-Version: 2.1\nName: " + p.Name + "\nVersion: " + p.Version + "\n"
	for _, name := range slices.Sorted(maps.Keys(p.Dependencies)) {
		metadata += "Requires-Dist: " + name + p.Dependencies[name] + "\n"
	}
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		add(name, p.Files[name])
	}
	add(info+"METADATA", metadata)
	add(info+"WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
	add(info+"entry_points.txt", "[console_scripts]\n"+p.Name+" = "+p.Bin+"\n")
	add(info+"RECORD", "")
	archive.Close()
	return out.Bytes()
}
