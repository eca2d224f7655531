package tools

import (
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

// Commands are the commands about what servers have: tools, prompts and resources.
func Commands(s show.Streams) []*cobra.Command {
	return []*cobra.Command{newTools(s), newCall(s), newLint(s), newPrompts(s), newPrompt(s), newResources(s), newRead(s), newComplete(s)}
}
