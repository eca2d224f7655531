package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/session"
)

// TestWhereAModelIs checks the address of each model and the key that is sent there. K is the key in the file of
// --key-file, and S is the key of the settings. The key in a variable is the variable's name.
func TestWhereAModelIs(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{"key": "K\n", ".config/indusvx/settings-key": " S \nmore", "empty": "\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const (
		anthropic, openai, router = "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"
		mine                      = "http://127.0.0.1:8000/v1"
	)
	for _, tt := range []struct {
		env                  string // variables to set
		settings             string
		model, base, keyFile string
		name                 string // argument of /model
		want                 string // provider model address key, or a part of the error
	}{
		{env: anthropic, want: "anthropic claude-sonnet-4-5  ANTHROPIC_API_KEY"},
		{env: openai, want: "openai gpt-5  OPENAI_API_KEY"},
		{env: router, want: "openrouter openrouter/auto https://openrouter.ai/api/v1 OPENROUTER_API_KEY"},
		{want: "there is no key for a model. Set $ANTHROPIC_API_KEY, $OPENAI_API_KEY or $OPENROUTER_API_KEY, or give a file with --key-file, or name both model and key in /"},
		{env: anthropic + " " + openai, want: "name a model with --model, such as anthropic/claude-sonnet-4-5 or openai/gpt-5"},
		{env: anthropic, model: "openai/gpt-5", want: "there is no key for openai. Set $OPENAI_API_KEY"},
		{env: anthropic + " " + openai, model: "openai/gpt-5", want: "openai gpt-5  OPENAI_API_KEY"},
		{env: "INDUS_MODEL=openai/o3 " + openai, want: "openai o3  OPENAI_API_KEY"},
		{env: "INDUS_MODEL=openai/o3 " + openai, model: "ollama/q", want: "ollama q http://127.0.0.1:11434/v1 "},
		{model: "openai/gpt-5", keyFile: "key", want: "openai gpt-5  K"},
		{env: openai, model: "openai/gpt-5", keyFile: "key", want: "openai gpt-5  K"},
		{model: "openai/gpt-5", keyFile: "none", want: "no such file"},
		{model: "openai/gpt-5", keyFile: "empty", want: "there is no key in it"},
		{model: "ollama/qwen3:8b", env: openai, want: "ollama qwen3:8b http://127.0.0.1:11434/v1 "},
		{model: "ollama/q", env: "OLLAMA_HOST=0.0.0.0", want: "ollama q http://127.0.0.1:11434/v1 "},
		{model: "ollama/q", env: "OLLAMA_HOST=box:9", want: "ollama q http://box:9/v1 "},
		{model: "ollama/q", env: "OLLAMA_HOST=https://box.example/", want: "ollama q https://box.example/v1 "},
		// A key is sent only to its own address.
		{env: openai, model: "qwen", base: mine, want: " qwen " + mine + " "},
		{env: openai, model: "openai/qwen", base: mine, want: "openai qwen " + mine + " "},
		{env: anthropic, model: "anthropic/c", base: mine, want: "anthropic c " + mine + " "},
		{env: anthropic, model: "anthropic/c", base: mine, keyFile: "key", want: "anthropic c " + mine + " K"},
		{env: openai, model: "a/b/c", base: mine, keyFile: "key", want: " a/b/c " + mine + " K"},
		{model: "qwen", want: `model "qwen": begin it with its provider`},
		{model: "antropic/c", want: "did you mean anthropic?"},
		{model: "openai/", want: "model \"openai/\" has no name behind its provider"},
		{model: "q", base: "box:8000", want: "it is a URL such as"},
		{model: "q", base: "file:///etc/passwd", want: "it is a URL such as"},
		{base: mine, want: "no model is named"},
		{env: openai, keyFile: "key", want: "no model is named"},
		// The environment determines the address for its own key.
		{env: openai + " OPENAI_BASE_URL=" + mine, want: "openai gpt-5 " + mine + " OPENAI_API_KEY"},
		{env: anthropic + " ANTHROPIC_BASE_URL=" + mine, want: "anthropic claude-sonnet-4-5 " + mine + " ANTHROPIC_API_KEY"},
		{env: anthropic + " OPENAI_BASE_URL=" + mine, want: "anthropic claude-sonnet-4-5  ANTHROPIC_API_KEY"},
		{env: "OPENAI_BASE_URL=" + mine, model: "openai/q", want: "openai q " + mine + " "},
		{env: "OPENAI_BASE_URL=" + mine, want: "no model is named"},
		{env: openai + " OPENAI_BASE_URL=" + mine, model: "openai/q", base: "http://127.0.0.1:9/v1", want: "openai q http://127.0.0.1:9/v1 "},
		{env: openai + " OPENAI_BASE_URL=" + mine, model: "openai/q", keyFile: "key", want: "openai q " + mine + " K"},
		{env: router + " OPENAI_BASE_URL=" + mine, want: "openrouter openrouter/auto https://openrouter.ai/api/v1 OPENROUTER_API_KEY"},
		{env: openai + " OPENAI_BASE_URL=box:8000", want: "$OPENAI_BASE_URL box:8000: it is a URL such as"},
		{env: openai + " OPENAI_BASE_URL=" + mine, model: "q", base: "http://127.0.0.1:9/v1", name: "openai/o3", want: "openai o3 " + mine + " OPENAI_API_KEY"},
		{settings: `{"model":"anthropic/c","keyFile":"settings-key"}`, env: "ANTHROPIC_BASE_URL=" + mine,
			want: "the key that it names is not sent to $ANTHROPIC_BASE_URL"},
		{settings: `{"model":"anthropic/c","keyFile":"settings-key"}`, env: anthropic + " ANTHROPIC_BASE_URL=" + mine,
			want: "anthropic c " + mine + " ANTHROPIC_API_KEY"},
		{settings: `{"model":"anthropic/c","baseURL":"http://127.0.0.1:9","keyFile":"settings-key"}`, env: "ANTHROPIC_BASE_URL=" + mine,
			want: "anthropic c http://127.0.0.1:9 S"},
		// The key in the settings belongs to the model in the settings.
		{settings: `{"model":"anthropic/c","keyFile":"settings-key"}`, want: "anthropic c  S"},
		{settings: `{"model":"anthropic/c","keyFile":"settings-key"}`, model: "anthropic/d", want: "anthropic d  S"},
		{settings: `{"model":"anthropic/c","keyFile":"settings-key"}`, model: "anthropic/d", base: mine, want: "anthropic d " + mine + " "},
		{settings: `{"model":"anthropic/c","keyFile":"settings-key"}`, model: "openai/d", env: openai, want: "openai d  OPENAI_API_KEY"},
		{settings: `{"model":"anthropic/c","keyFile":"settings-key"}`, model: "x", base: mine, want: " x " + mine + " "},
		{settings: `{"model":"q","baseURL":"` + mine + `","keyEnv":"MINE"}`, env: "MINE", want: " q " + mine + " MINE"},
		{settings: `{"model":"q","baseURL":"` + mine + `","keyEnv":"MINE"}`, want: "the variable MINE, which keyEnv names, is not set"},
		{settings: `{"model":"q","baseURL":"` + mine + `","keyEnv":"MINE"}`, env: "MINE", model: "ollama/q", want: "ollama q http://127.0.0.1:11434/v1 "},
		{settings: `{"baseURL":"` + mine + `"}`, model: "z", want: " z " + mine + " "},
		{settings: `{"modle":"q"}`, want: "unknown field"},
		{settings: `{"context":-1}`, want: "context -1 is no number of tokens"},
		{settings: `{"model":3}`, want: "settings.json: model cannot be a JSON number"},
		{settings: `{"model":"anthropic/c"} x`, want: "something follows the object"},
		{settings: `{"keyFile":"a","keyEnv":"b"}`, want: "exclude each other"},
		// Flags apply to the provider of the session's first model.
		{model: "q", base: mine, keyFile: "key", name: "r", want: " r " + mine + " K"},
		{model: "q", base: mine, keyFile: "key", env: openai, name: "openai/gpt-5", want: "openai gpt-5  OPENAI_API_KEY"},
		{model: "q", base: mine, keyFile: "key", name: "ollama/z", want: "ollama z http://127.0.0.1:11434/v1 "},
		{model: "openai/a", keyFile: "key", name: "openai/b", want: "openai b  K"},
		{model: "openai/a", keyFile: "key", name: "c", want: `model "c": begin it with its provider`},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			for _, name := range []string{
				anthropic, openai, router, "OLLAMA_HOST", "INDUS_MODEL", "MINE", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL",
			} {
				t.Setenv(name, "")
			}
			t.Setenv("HOME", dir)
			t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, ".config"))
			for _, set := range strings.Fields(tt.env) {
				name, value, ok := strings.Cut(set, "=")
				if !ok {
					value = name
				}
				t.Setenv(name, value)
			}
			file := filepath.Join(dir, ".config", "indusvx", "settings.json")
			_ = os.Remove(file)
			if tt.settings != "" {
				if err := os.WriteFile(file, []byte(tt.settings), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tt.keyFile != "" {
				tt.keyFile = filepath.Join(dir, tt.keyFile)
			}
			provider, id, address, key, err := session.Target(tt.model, tt.base, tt.keyFile, tt.name)
			got := strings.Join([]string{provider, id, address, key}, " ")
			if err == nil && got != tt.want || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
