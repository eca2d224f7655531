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
	fs.StringVarP(&f.text, "prompt", "p", "", `TEXT  answer TEXT on stdout, and end; what stdin has is context, unless
		it is a terminal`)
	fs.StringVar(&f.model, "model", "", `PROVIDER/NAME  the model: of anthropic, openai, openrouter or ollama; any
		name with --base-url (default: $INDUS_MODEL, or "model" of the settings, or one of the provider whose key is
		there)`)
	fs.StringVar(&f.baseURL, "base-url", "", `URL  a server that speaks as OpenAI does, or with the model
		anthropic/NAME as Anthropic does (default: $ANTHROPIC_BASE_URL or $OPENAI_BASE_URL, or the provider's own)`)
	fs.StringVar(&f.keyFile, "key-file", "", `FILE  the provider's key (default: $ANTHROPIC_API_KEY, $OPENAI_API_KEY
		or $OPENROUTER_API_KEY, each for its own address alone; or "keyFile" or "keyEnv" of the settings)`)
	fs.StringSliceVar(&f.tools, "tools", nil, `LIST  the built-in tools that there are: read, bash, … (default: all);
		the servers' are there in any case`)
	_ = fs.SetAnnotation("tools", command.MayBeEmpty, nil) // an empty list selects all tools
	fs.BoolVar(&f.noTools, "no-tools", false, "no tool at all, and no server is started")
	fs.BoolVar(&f.noLedger, "no-ledger", false, "keep no ledger, and do not use one")
	fs.BoolVar(&f.yes, "yes", false, "let every call run unasked")
	fs.StringSliceVar(&f.allow, "allow", nil, `PATTERN  let calls of these tools run unasked: bash, github__*; may be
		repeated or separated by commas`)
	fs.BoolVar(&f.private, "allow-private", false, "let webfetch reach this machine and its network")
	fs.IntVar(&f.steps, "steps", 0, "N  how many messages of the model one answer may take (default: 50)")
	fs.DurationVar(&f.wait, "wait", defaultWait, `TIME  how long the first turn waits for servers; a later server is
		available in the next one; 0 is not at all (default: 5s)`)
	fs.StringVar(&f.resume, "resume", "", "ID  go on with an earlier session, or the last of this directory")
	fs.Lookup("resume").NoOptDefVal = latest
	fs.IntVar(&f.budget, "tool-budget", defaultBudget, `TOKENS  beyond it four tools take the place of the servers':
		search, schema, call and batch find and run them (default: 20000)`)
	fs.IntVar(&f.context, "context", 0, `TOKENS  how long a conversation may be; from four fifths of it on the results
		of older calls are left out (default: "context" of the settings, or what is known of the model, or 150000)`)
	fs.BoolVar(&f.agents, "agents", false, `use the project's AGENTS.md as it is; without it indus on a terminal asks,
		again where the file has changed`)
	fs.BoolVar(&f.asJSON, "json", false, `with -p, print what happens as JSON lines: the first is of type session and
		has its id, the last is of type end, or an error; docs/session.md lists all`)
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
		return command.Usagef("no terminal to talk on: give the prompt with -p")
	}
	return cmd.Help()
}

// check refuses invalid values and combinations of flags.
func (f *flags) check(cmd *cobra.Command) error {
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	switch {
	case f.noTools && given("tools"):
		return command.Usagef("--no-tools and --tools exclude each other")
	case f.noLedger && given("ledger"):
		return command.Usagef("--no-ledger and --ledger exclude each other")
	case f.asJSON && !f.hasPrompt:
		return command.Usagef("--json needs -p: it prints what happens while that is answered")
	case f.steps < 0 || f.steps == 0 && given("steps"):
		return command.Usagef("--steps %d: it is how many messages of the model an answer may take", f.steps)
	case f.wait < 0:
		return command.Usagef("--wait %v: it is how long the first turn waits for servers; 0 is not at all", f.wait)
	case f.context < 0 || given("context") && f.context < leastContext:
		return command.Usagef("--context %d: it is a number of tokens, %d at least", f.context, leastContext)
	case f.budget < 1:
		return command.Usagef("--tool-budget %d: it is a number of tokens, such as 20000", f.budget)
	}
	if f.hasPrompt && strings.TrimSpace(f.text) == "" {
		return command.Usagef("-p is empty: it is what you ask")
	}
	if err := (&agent.Permissions{Allow: f.allow}).Check(); err != nil {
		return command.Usagef("--allow: %w", err)
	}
	return checkTools(f.tools)
}

const flagsHelp = `Flags of indus -p, and of indus on a terminal:
  --prompt --model --base-url --key-file --tools --no-tools
  --yes --allow --allow-private --wait --tool-budget --context
  --agents --steps --resume --no-ledger --json
  Settings are the user's alone, in indusvx/settings.json of the configuration
  directory: {"model", "baseURL", "keyFile" or "keyEnv", "context"}; a project has none. A call that
  may do harm asks first; with -p it is refused.
  --mcp --trust --ledger`
