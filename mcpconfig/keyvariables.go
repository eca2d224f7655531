package mcpconfig

import (
	"encoding/json"
	"path/filepath"

	"github.com/indusagi/indus/internal/atomicfile"
)

// maxSettings bounds the file of settings that is read for "keyEnv".
const maxSettings = 64 << 10

// KeyVariables are the variables that indus takes its own keys from: that of the store of sign-ins, the token of indus
// serve, and the keys of models, also the one that "keyEnv" of settings.json names. A child process gets them only
// if its row names them.
func KeyVariables(o *Options) []string {
	names := []string{"INDUS_STORE_KEY", "INDUS_TOKEN", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"}
	path, err := PathOf(User, o)
	if err != nil {
		return names
	}
	var set struct {
		KeyEnv string `json:"keyEnv"`
	}
	text, err := atomicfile.ReadPlain(filepath.Join(filepath.Dir(path), "settings.json"), maxSettings)
	if err == nil && json.Unmarshal(text, &set) == nil && set.KeyEnv != "" {
		names = append(names, set.KeyEnv)
	}
	return names
}
