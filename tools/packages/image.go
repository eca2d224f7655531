package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nonRoot is the user and the group of the image.
const nonRoot = 65532

// writeImage writes the image for two architectures as an OCI image layout. Both have a layer with the directories and
// the certificates, and a layer with the binary. The Dockerfile builds the same image from a checkout.
func writeImage(r *release, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	base, err := r.layer(
		entry{name: "home/", mode: 0o755},
		entry{name: "home/indus/", mode: 0o700, owner: nonRoot},
		entry{name: "tmp/", mode: 0o1777},
		entry{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: certificates()},
	)
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := r.image(base, arch)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	_, err = layout.Write(dir, index)
	return err
}

func (r *release) image(base v1.Layer, arch string) (v1.Image, error) {
	content, err := r.binary("linux/" + arch)
	if err != nil {
		return nil, err
	}
	program, err := r.layer(entry{name: "indus", mode: 0o755, content: content})
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, base, program); err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", arch, v1.Time{Time: r.Time}
	file.Config = v1.Config{
		User: "65532:65532", WorkingDir: "/home/indus", Env: []string{"HOME=/home/indus"},
		Entrypoint:   []string{"/indus"},
		Cmd:          []string{"serve", "--addr", "0.0.0.0:7332", "--mcp", "/servers.json"},
		ExposedPorts: map[string]struct{}{"7332/tcp": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title": "indus", "org.opencontainers.image.description": description,
			"org.opencontainers.image.source": homepage, "org.opencontainers.image.licenses": "MIT",
			"org.opencontainers.image.version":    r.Version,
			"io.modelcontextprotocol.server.name": registered,
		},
	}
	return mutate.ConfigFile(image, file)
}

// entry is a file of a layer, or a directory if its name ends with a slash.
type entry struct {
	name    string
	mode    int64
	owner   int
	content []byte
}

func (r *release) layer(entries ...entry) (v1.Layer, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		header := &tar.Header{
			Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner, Size: int64(len(e.content)), ModTime: r.Time,
			Format: tar.FormatPAX,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(out.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// certificates returns the root certificates of Mozilla, which the Go team publishes. It leaves out certificates that
// Mozilla trusts only under a condition.
func certificates() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return out.Bytes()
}
