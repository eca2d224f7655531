package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
)

type object = map[string]any

// bundled lists the binaries of the MCP bundle and their systems. A manifest selects a command by the system and not by
// the architecture: macOS gets a universal binary, and Windows on Arm runs programs for amd64. Linux on Arm has no
// bundle.
var bundled = []struct {
	name    string
	systems []string
}{
	{"server/indus", []string{"linux/amd64"}},
	{"server/indus-darwin", []string{"darwin/amd64", "darwin/arm64"}},
	{"server/indus.exe", []string{"windows/amd64"}},
}

// manifest returns the manifest of the MCP bundle. It has no settings: indus reads the user's configuration.
func manifest(r *release) object {
	command := func(name string) object { return object{"command": "${__dirname}/server/" + name} }
	return object{
		"manifest_version": "0.3", "name": "indus", "version": r.Version, "description": description, "license": "MIT",
		"author":     object{"name": "indusagi", "url": homepage},
		"repository": object{"type": "git", "url": homepage + ".git"},
		"homepage":   homepage,
		"server": object{"type": "binary", "entry_point": "server/indus", "mcp_config": object{
			"command": "${__dirname}/server/indus", "args": []string{"serve", "--stdio"},
			"platform_overrides": object{"darwin": command("indus-darwin"), "win32": command("indus.exe")},
		}},
		"tools_generated": true,
		"compatibility":   object{"platforms": []string{"darwin", "linux", "win32"}},
	}
}

func writeBundle(r *release, file string) error {
	text, err := json.MarshalIndent(manifest(r), "", "  ")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	add := func(name string, mode os.FileMode, content []byte) error {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: r.Time}
		header.SetMode(mode)
		w, err := z.CreateHeader(header)
		if err == nil {
			_, err = w.Write(content)
		}
		return err
	}
	if err := add("manifest.json", 0o644, text); err != nil {
		return err
	}
	for _, b := range bundled {
		content, err := r.oneBinary(b.systems)
		if err != nil {
			return err
		}
		if err := add(b.name, 0o755, content); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// oneBinary returns the binary for a system, or the universal binary for several systems.
func (r *release) oneBinary(systems []string) ([]byte, error) {
	var parts [][]byte
	for _, system := range systems {
		content, err := r.binary(system)
		if err != nil {
			return nil, err
		}
		parts = append(parts, content)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return universal(parts), nil
}

// universal joins Mach-O binaries into one with a header that lists their processors. Each begins at a page.
func universal(parts [][]byte) []byte {
	const magic, alignment = 0xcafebabe, 14 // as a power of two
	align := func(n int) int { return (n + 1<<alignment - 1) &^ (1<<alignment - 1) }
	out := binary.BigEndian.AppendUint32(nil, magic)
	out = binary.BigEndian.AppendUint32(out, uint32(len(parts)))
	offset := 1 << alignment
	for _, part := range parts {
		processor := binary.LittleEndian.Uint64(part[4:]) // type and subtype, in this order
		for _, n := range []uint32{
			uint32(processor), uint32(processor >> 32), uint32(offset), uint32(len(part)), alignment,
		} {
			out = binary.BigEndian.AppendUint32(out, n)
		}
		offset = align(offset + len(part))
	}
	for _, part := range parts {
		out = append(out, make([]byte, align(len(out))-len(out))...)
		out = append(out, part...)
	}
	return out
}

// serverEntry returns the entry of the MCP registry (server.json, schema of 2025-12-11).
func serverEntry(r *release, bundle, sum string) object {
	stdio := object{"type": "stdio"}
	arguments := []object{{"type": "positional", "value": "serve"}, {"type": "named", "name": "--stdio"}}
	return object{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":    registered, "title": "indus", "description": description, "version": r.Version, "websiteUrl": homepage,
		"repository": object{"url": homepage, "source": "github"},
		"packages": []object{
			{"registryType": "npm", "identifier": npmName, "version": r.Version, "transport": stdio,
				"packageArguments": arguments},
			{"registryType": "oci", "identifier": imageName + ":" + r.Version, "transport": stdio,
				"packageArguments": arguments},
			{"registryType": "mcpb", "identifier": homepage + "/releases/download/v" + r.Version + "/" + bundle,
				"fileSha256": sum, "transport": stdio},
		},
	}
}
