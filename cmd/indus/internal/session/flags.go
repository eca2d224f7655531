package session

import (
	"strings"
	"time"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

// flags are the flags of the root command.
type flags struct {
	command.ConfigFlags
	command.LedgerFlags
	text      string // -p
	hasPrompt bool   // -p was given
	model     string
	baseURL   string
	keyFile   string
	tools     []string
	noTools   bool
	noLedger  bool
	yes       bool
	allow     []string
	private   bool // --allow-private
	steps     int
	wait      time.Duration
	resume    string // latest or an id; "" for a new session
	budget    int    // in tokens
	context   int    // in tokens; 0 for the known size of the model
	agents    bool   // AGENTS.md is used without approval
	asJSON    bool
}

// latest is the value of --resume without an id.
const latest = "latest"

// Add makes the root command start sessions: with -p for one answer, or on a terminal for a conversation. Otherwise the
// command prints its help.
func Add(root *cobra.Command, s show.Streams) {
	f := addFlags(root)
	root.Args = f.arguments
	root.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd, s) }
	root.Long = strings.Replace(root.Long, "\n\nFlags of every command:", "\n\n"+flagsHelp+"\n\nFlags of every command:",
		1)
}

func addFlags(root *cobra.Command) *flags {
	f := &flags{}
	f.ConfigFlags.Add(root)
	f.LedgerFlags.Add(root)
	fs := root.Flags()
	fs.StringVarP(&f.text, "prompt", "p", "", `TEXT  print the answer to TEXT on stdout, and exit; stdin is context,
		unless it is a terminal`)
	fs.StringVar(&f.model, "model", "", `PROVIDER/NAME  the model, from anthropic, openai, openrouter or ollama; any
		name with --base-url (default: $INDUS_MODEL, "model" of the settings, or a model of the provider for which a
		key is set)`)
	fs.StringVar(&f.baseURL, "base-url", "", `URL  a server with the API of OpenAI, or of Anthropic with the
		model anthropic/NAME (default: $ANTHROPIC_BASE_URL or $OPENAI_BASE_URL, or the provider's own)`)
	fs.StringVar(&f.keyFile, "key-file", "", `FILE  the provider's key (default: $ANTHROPIC_API_KEY, $OPENAI_API_KEY
		or $OPENROUTER_API_KEY, each is sent only to its own provider; or "keyFile" or "keyEnv" of the settings)`)
	fs.Var(command.Listed(&f.tools), "tools", `LIST  the built-in tools to use: read, bash, … (default: all);
		the tools of the servers are always available`)
	_ = fs.SetAnnotation("tools", command.MayBeEmpty, nil) // an empty list selects all tools
	fs.BoolVar(&f.noTools, "no-tools", false, "use no tools, and start no server")
	fs.BoolVar(&f.noLedger, "no-ledger", false, "do not use or write the ledger")
	fs.BoolVar(&f.yes, "yes", false, "run every call without asking")
	fs.Var(command.Listed(&f.allow), "allow", `PATTERN  run calls of these tools without asking: bash, github__*; may be
		repeated or separated by commas`)
	fs.BoolVar(&f.private, "allow-private", false, "let webfetch access this machine and its network")
	fs.IntVar(&f.steps, "steps", 0, "N  the number of model messages that one answer may take (default: 50)")
	fs.DurationVar(&f.wait, "wait", defaultWait, `TIME  how long the first turn waits for servers; a later server is
		available in the next turn; 0 does not wait (default: 5s)`)
	fs.StringVar(&f.resume, "resume", "", "ID  continue an earlier session, or the last session of this directory")
	fs.Lookup("resume").NoOptDefVal = latest
	fs.IntVar(&f.budget, "tool-budget", defaultBudget, `TOKENS  if the servers' tools take more, four tools replace them:
		search, schema, call and batch find and run them (default: 20000)`)
	fs.IntVar(&f.context, "context", 0, `TOKENS  the maximum length of a conversation; above four fifths of it, the results
		of older calls are left out (default: "context" of the settings, the known limit of the model, or 150000)`)
	fs.BoolVar(&f.agents, "agents", false, `use the project's AGENTS.md without asking; otherwise indus asks on a terminal,
		and asks again after the file changed`)
	fs.BoolVar(&f.asJSON, "json", false, `with -p, print all events as JSON lines: the first has the type session and
		its id, the last has the type end or is an error; docs/session.md lists all`)
	return f
}

const (
	// defaultWait limits the user's wait for the first answer, whatever the servers do.
	defaultWait = 5 * time.Second
	// defaultBudget is about the size of a hundred tools. With more, models choose badly, and each request costs more.
	defaultBudget = 20_000
	// leastContext is large enough for a few calls.
	leastContext = 4_000
)

// arguments refuses all arguments except the id of --resume, which pflag treats as an argument.
func (f *flags) arguments(cmd *cobra.Command, args []string) error {
	if f.resume == latest && len(args) == 1 {
		f.resume = args[0]
		return nil
	}
	return command.NoSuchCommand(cmd, args)
}

func (f *flags) run(cmd *cobra.Command, s show.Streams) error {
	f.hasPrompt = cmd.Flags().Changed("prompt")
	if err := f.check(cmd); err != nil {
		return err
	}
	_, in := show.Terminal(s.In)
	_, out := show.Terminal(s.Out)
	switch {
	case f.hasPrompt:
		return f.answer(cmd.Context(), s)
	case in && out && !f.asJSON:
		return converse(cmd.Context(), f, s)
	case cmd.Flags().NFlag() > 0:
		return command.Usagef("stdin or stdout is no terminal: give the prompt with -p")
	}
	return cmd.Help()
}

// check refuses invalid values and combinations of flags.
func (f *flags) check(cmd *cobra.Command) error {
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	switch {
	case f.noTools && given("tools"):
		return command.Exclude("--no-tools", "--tools")
	case f.noLedger && given("ledger"):
		return command.Exclude("--no-ledger", "--ledger")
	case f.asJSON && !f.hasPrompt:
		return command.Usagef("--json needs -p: it prints the events of one answer")
	case f.steps < 0 || f.steps == 0 && given("steps"):
		return command.Usagef("--steps %d: it is the number of model messages that an answer may take", f.steps)
	case f.wait < 0:
		return command.Usagef("--wait %v: it is how long the first turn waits for servers; 0 does not wait", f.wait)
	case f.context < 0 || given("context") && f.context < leastContext:
		return command.Usagef("--context %d: it is a number of tokens, %d at least", f.context, leastContext)
	case f.budget < 1:
		return command.Usagef("--tool-budget %d: it is a number of tokens, such as 20000", f.budget)
	}
	if f.hasPrompt && strings.TrimSpace(f.text) == "" {
		return command.Usagef("-p is empty: give the question")
	}
	if err := (&agent.Permissions{Allow: f.allow}).Check(); err != nil {
		return command.Usagef("--allow: %w", err)
	}
	return checkTools(f.tools)
}

const flagsHelp = `Flags of indus -p, and of indus on a terminal:
  --prompt --model --key-file --base-url
  --yes --allow --tools --no-tools
  --resume --json --mcp --trust
  --wait --steps --context --tool-budget --agents --allow-private
  --ledger --no-ledger
  Settings are in indusvx/settings.json of the user's configuration directory, never
  in a project: {"model", "baseURL", "keyFile" or "keyEnv", "context"}. A call that may
  do harm needs the user's permission; with -p it is refused.`
