package mcpconfig

import (
	"encoding/json"
	"path/filepath"

	"github.com/indusagi/indus/internal/atomicfile"
)

// maxSettings bounds the size of the settings file, which is read for "keyEnv".
const maxSettings = 64 << 10

// KeyVariables returns the variables from which indus takes its own keys. They hold the key of the store of sign-ins,
// the token of indus serve and the keys of models. The variable that "keyEnv" of settings.json names is included. A
// child process gets them only if its row names them.
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
