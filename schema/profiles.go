package schema

import (
	"maps"

	"github.com/indusagi/indus/schema/rule"
)

// The profiles, as data. The providers' documentation was read in the autumn of 2026. If it does not state a rule, the
// source is a thread in which the provider refused a request. If the two differ, or if only some models refuse, the
// profile has the stricter rule. If the last report of a refusal is more than a year old (before 2025-11), the rule is
// only [rule.Conservative]. `indus mcp lint --explain PROVIDER` prints all rules.

// Grammars that several consumers share.
var (
	plainName  = rule.Grammar{First: "a-zA-Z0-9_-", Rest: "a-zA-Z0-9_-", Max: 64}
	safeName   = rule.Grammar{First: "a-zA-Z", Rest: "a-zA-Z0-9_-", Max: 64}
	geminiName = rule.Grammar{First: "a-zA-Z_", Rest: "a-zA-Z0-9_.:-", Max: 64}
	safeKey    = rule.Grammar{First: "a-zA-Z_", Rest: "a-zA-Z0-9_", Max: 64}
	claudeKey  = rule.Grammar{First: "a-zA-Z0-9_.-", Rest: "a-zA-Z0-9_.-", Max: 64}
)

// rule.Keywords and values that several consumers share.
var (
	combinators = []string{"oneOf", "anyOf", "allOf"}
	withoutNull = []string{"object", "array", "string", "number", "integer", "boolean"}

	// strictRoot lists the keywords accepted at the root in the strict modes of OpenAI and Anthropic.
	strictRoot = []string{"type", "title", "description", "properties", "required", "additionalProperties", "$defs"}
	// strictFormats lists the formats accepted in both strict modes.
	strictFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

	geminiKeywords = []string{
		"type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems",
		"properties", "required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern",
		"minimum", "maximum", "anyOf", "propertyOrdering", "default", "example",
	}
	geminiJSONKeywords = []string{
		"$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems",
		"minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required",
		"propertyOrdering",
	}
	moonshotKeywords = []string{
		"type", "title", "description", "default", "enum", "items", "minItems", "maxItems", "minLength", "maxLength",
		"minimum", "maximum", "properties", "required", "additionalProperties",
	}
)

// Sources of rules. The date of a thread is the date of the reported refusal, if it is known.
var (
	openAIStrict   = documentedAt("https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas")
	openAIFunction = documentedAt("https://platform.openai.com/docs/api-reference/chat/create#chat-create-tools")
	openAIRoot     = seenAt("joselcaguilar/azure-openai-ha#146", "2026-05")
	openAIObjects  = seenAt("everruns/everruns#984", "2026-03")
	openAIArrays   = seenAt("langgenius/dify#32894", "2026-03")
	openAIPattern  = seenAt("codefuturist/email-mcp#73", "2026-08")
	openAICount    = seenAt("code-yeongyu/oh-my-openagent#2848", "2026-03")

	anthropicTools  = documentedAt("https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview")
	anthropicStrict = documentedAt("https://platform.claude.com/docs/en/build-with-claude/structured-outputs")
	anthropicForm   = seenAt("Dokploy/mcp#74", "2026-08")
	anthropicRoot   = seenAt("anomalyco/opencode#37916", "2026-07")
	anthropicKey    = seenAt("anthropics/claude-code#79418", "2026-07")
	anthropicName   = seenAt("anthropics/claude-code#20830", "2026-01")
	// The bound derived from this thread is an estimate, because the size of a grammar does not depend on bytes alone.
	anthropicGrammar = asConservative(seenAt("pome-sh/digital-twins#527", "2026-08"))
	anthropicHalf    = seenAt("anthropics/claude-code#60394", "2026-05")

	geminiSchema   = documentedAt("https://ai.google.dev/api/caching#Schema")
	geminiFunction = documentedAt("https://ai.google.dev/api/caching#FunctionDeclaration")
	geminiJSON     = documentedAt("https://ai.google.dev/api/generate-content#FIELDS.response_json_schema")
	geminiUnknown  = seenAt("felinics/Memoh#620", "2026-06")
	geminiTyped    = seenAt("anomalyco/opencode#11889", "2026-02")
	geminiTypes    = seenAt("aoci-spec/aoci-code#61", "2026-09")
	geminiArrays   = seenAt("NousResearch/hermes-agent#71804", "2026")
	geminiRequired = seenAt("Kilo-Org/kilocode#11950", "2026-03")
	geminiEnum     = seenAt("FMXExpress/PasClaw#294", "2026-06")
	geminiNames    = seenAt("kaitranntt/ccs#25", "")
	geminiCount    = seenAt("google-gemini/gemini-cli#19083", "2026")

	bedrockTool = documentedAt(
		"https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html")
	bedrockSchema = documentedAt(
		"https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolInputSchema.html")
	// seen at a relay, not at Bedrock itself
	bedrockRelay   = asConservative(seenAt("hypothesi/mcp-server-tauri#31", "2026-06"))
	bedrockStrict  = documentedAt("https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html")
	bedrockClosed  = seenAt("strands-agents/harness-sdk#2213", "2026-04")
	bedrockKeyword = seenAt("BerriAI/litellm#39115", "2026-09")
	novaTool       = documentedAt("https://docs.aws.amazon.com/nova/latest/userguide/tool-use-definition.html")
	novaText       = documentedAt("https://docs.aws.amazon.com/nova-act/latest/APIReference/API_ToolSpec.html")

	moonshotSchema = documentedAt("https://github.com/MoonshotAI/walle/blob/main/docs/walle.md")
	moonshotLimits = documentedAt("https://github.com/MoonshotAI/walle/blob/main/conf.go")
	moonshotName   = seenAt("MoonshotAI/kimi-cli#1773", "2026")
	moonshotTools  = documentedAt("https://platform.kimi.ai/docs/api/tool-use")

	ollamaTypes = documentedAt("https://github.com/ollama/ollama/blob/main/api/types.go")

	deepSeekRoot    = seenAt("farion1231/cc-switch#5048", "2026-07")
	deepSeekPattern = seenAt("zed-industries/zed#64386", "2026-09")
	deepSeekName    = seenAt("refly-ai/refly#1794", "2025-12")
	deepSeekForm    = seenAt("esengine/DeepSeek-Reasonix#4086", "2026-06")

	// for answers, not for tools
	xaiOutputs = asConservative(documentedAt("https://docs.x.ai/docs/guides/structured-outputs"))
	xaiCount   = seenAt("router-for-me/CLIProxyAPI#5214", "2026-08")

	llamaPattern = seenAt("containers/kubernetes-mcp-server#758", "2026-02")
	llamaRepeats = seenAt("unslothai/unsloth#9888", "2026-08")
	llamaGrammar = seenAt("ggml-org/llama.cpp#25895", "2026-07")

	groqProperties = seenAt("usestrix/strix#1088", "2026-08")
	groqRequired   = seenAt("moltis-org/moltis#485", "2026-03")
	groqType       = seenAt("livekit/agents#4610", "2026-01")

	cerebrasClosed = seenAt("theopenco/llmgateway#1455", "2026-01")
	cerebrasFields = asConservative(seenAt("musistudio/claude-code-router#708", "2025-08"))

	// references and draft2020 are sources for providers that require draft 2020-12.
	references = asConservative(documentedAt("https://json-schema.org/draft/2020-12/json-schema-core#section-8.2.3.1"))
	draft2020  = asConservative(documentedAt("https://json-schema.org/draft/2020-12/schema"))
)

func documentedAt(at string) rule.Source { return rule.Source{At: at, Class: rule.Documented} }

func seenAt(at, date string) rule.Source { return rule.Source{At: at, Class: rule.Seen, Date: date} }

// asConservative returns a source that states a similar rule.
func asConservative(s rule.Source) rule.Source {
	s.Class = rule.Conservative
	return s
}

var profiles = []*Profile{
	Universal, Flat,
	Anthropic, AnthropicStrict, OpenAI, OpenAIStrict, Gemini, GeminiJSONSchema, Bedrock, BedrockStrict, BedrockNova,
	Mistral, Moonshot, Ollama,
	DeepSeek, XAI, Groq, CerebrasStrict, LlamaCpp,
	Seed, Original,
}

// General profiles.
var (
	// Universal contains only forms that every provider accepts, apart from strict modes and Nova. Mounting uses it by
	// default. The source of each of its rules is a provider that requires it.
	Universal = &Profile{
		name: "universal", about: "what every provider accepts; the default",
		rules: rule.Set{
			Root: rule.Keywords{Only: []string{"type", "properties", "required"}},
			Nested: rule.Keywords{Only: []string{"type", "description", "enum", "items", "properties", "required",
				"anyOf"}},
			RootProperties:   true,
			Types:            withoutNull,
			TypeAlways:       true,
			TypeSingle:       true,
			TypeInBranches:   true,
			UnionAlone:       true,
			TypedKeywords:    true,
			ObjectProperties: true,
			ArrayItems:       true,
			RequiredDeclared: true,
			RequiredFilled:   true,
			Enum:             []string{"string"},
			EnumFilled:       true,
			Key:              safeKey,
			NotKeys:          []string{"required", "anyOf", "additionalProperties"},
			Limits:           rule.Limits{Depth: 30, Properties: 3_000, EnumValues: 1_000, Branches: 500, Bytes: 120_000},
			Tool:             rule.Tool{Name: safeName, MinDescription: 1, MaxTools: 128, FewTools: 20},
			Sources: map[rule.Rule]rule.Source{
				rule.Unlisted: geminiUnknown, rule.Keyword: moonshotSchema, rule.Root: anthropicTools, rule.Type: geminiTypes,
				rule.Boolean: geminiSchema, rule.Form: anthropicForm, rule.Properties: openAIObjects,
				rule.Objects: asConservative(openAIObjects), rule.Items: openAIArrays, rule.Required: geminiRequired,
				rule.Enum: geminiEnum, rule.Key: geminiFunction, rule.Limit: moonshotLimits,
				rule.Name: moonshotName, rule.Description: bedrockTool, rule.Count: openAICount,
			},
		},
	}

	// Flat is Universal without anyOf, for models and relays that do not know it.
	Flat = &Profile{
		name: "flat", about: "universal without anyOf, for Nova and old relays",
		rules: flatRules(Universal.rules),
	}
)

// flatRules returns the rules without anyOf, and with Nova's bound for descriptions.
func flatRules(r rule.Set) rule.Set {
	r.Nested = rule.Keywords{Only: []string{"type", "description", "enum", "items", "properties", "required"}}
	r.Tool.MaxDescription = BedrockNova.rules.Tool.MaxDescription
	r.Sources = maps.Clone(r.Sources)
	r.Sources[rule.Description] = novaText
	return r
}

// Anthropic's profiles.
var (
	// Anthropic is the Messages API with tools that are not strict.
	Anthropic = &Profile{
		name: "anthropic", about: "Anthropic's Messages API",
		rules: rule.Set{
			Root:     rule.Keywords{Never: combinators},
			Booleans: true,
			RootKey:  claudeKey,
			// 128 tools are accepted in a request, and 64 if a search for tools refers to them.
			Tool: rule.Tool{Name: plainName},
			Sources: map[rule.Rule]rule.Source{
				rule.JSON: anthropicHalf, rule.Keyword: anthropicRoot, rule.Root: anthropicTools, rule.Form: anthropicForm,
				rule.Ref: references,
				rule.Key: anthropicKey, rule.Name: anthropicName,
			},
		},
	}

	// AnthropicStrict is the Messages API with strict: true. The limits count over all strict tools of one request.
	// Anthropic compiles them into one grammar, with no documented bound (anthropics/anthropic-sdk-typescript#885). It
	// refused a schema of 7,354 bytes for every model.
	AnthropicStrict = &Profile{
		name: "anthropic-strict", about: "Anthropic's Messages API with strict tools",
		rules: rule.Set{
			Root: rule.Keywords{Only: strictRoot},
			Nested: rule.Keywords{Only: []string{
				"type", "title", "description", "enum", "const", "default", "items", "minItems", "properties", "required",
				"additionalProperties", "anyOf", "$ref", "format",
			}},
			RootProperties:   true,
			TypeAlways:       true,
			ArrayItems:       true,
			ObjectProperties: true,
			RequiredDeclared: true,
			Closed:           true,
			Enum:             []string{"string", "number", "boolean", "null"},
			Formats:          append([]string{"uri"}, strictFormats...),
			Bounds:           map[string][]int{"minItems": {0, 1}},
			RefDefs:          true,
			RefAlone:         true,
			NoRecursion:      true,
			RootKey:          claudeKey,
			Limits:           rule.Limits{Optional: 24, Unions: 16, Together: true, Request: 7_000},
			Tool:             rule.Tool{Name: plainName, MaxTools: 20},
			Sources: map[rule.Rule]rule.Source{
				rule.JSON: anthropicHalf, rule.Unlisted: anthropicStrict, rule.Root: anthropicTools, rule.Type: anthropicStrict,
				rule.Boolean: anthropicStrict,
				rule.Form:    anthropicForm, rule.Items: anthropicStrict, rule.Properties: seenAt("ax-llm/ax#459", ""),
				rule.Objects: seenAt("ax-llm/ax#459", ""), rule.Required: anthropicStrict,
				rule.Closed: anthropicStrict, rule.Enum: anthropicStrict, rule.Format: anthropicStrict, rule.Bound: anthropicStrict,
				rule.Ref: anthropicStrict, rule.Recursion: anthropicStrict, rule.Key: anthropicKey, rule.Limit: anthropicStrict,
				rule.Request: anthropicGrammar, rule.Name: anthropicName, rule.Count: anthropicStrict,
			},
		},
	}
)

// OpenAI's profiles.
var (
	// OpenAI is chat completions and responses with functions that are not strict. Some of its models accept allOf. The
	// bound of 1,024 characters for a description was dropped in 2025 (run-llama/llama_index#18784).
	OpenAI = &Profile{
		name: "openai", about: "OpenAI's chat completions and responses",
		rules: rule.Set{
			Root:             rule.Keywords{Never: append([]string{"enum", "const", "not"}, combinators...)},
			Nested:           rule.Keywords{Never: []string{"allOf"}},
			Booleans:         true,
			ObjectProperties: true,
			RootProperties:   true,
			ArrayItems:       true,
			PlainPattern:     true,
			Tool:             rule.Tool{Name: plainName, MaxTools: 128, FewTools: 20},
			Sources: map[rule.Rule]rule.Source{
				rule.Keyword: openAIRoot, rule.Root: openAIRoot,
				rule.Form:       seenAt("cbdb-project/cbdb-online-main-server#879", "2026-03"),
				rule.Properties: openAIObjects, rule.Objects: asConservative(openAIObjects), rule.Pattern: openAIPattern,
				rule.Items: openAIArrays, rule.Ref: references,
				rule.Name: openAIFunction, rule.Count: openAICount,
			},
		},
	}

	// OpenAIStrict is chat completions and responses with strict: true.
	OpenAIStrict = &Profile{
		name: "openai-strict", about: "OpenAI's chat completions and responses with strict functions",
		rules: rule.Set{
			Root: rule.Keywords{Only: strictRoot},
			Nested: rule.Keywords{Only: []string{
				"type", "title", "description", "enum", "const", "items", "minItems", "maxItems", "properties", "required",
				"additionalProperties", "anyOf", "$ref", "format", "pattern",
				"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
			}},
			RootProperties:   true,
			TypeAlways:       true,
			ObjectProperties: true,
			ArrayItems:       true,
			RequiredDeclared: true,
			RequiredAll:      true,
			Closed:           true,
			Formats:          strictFormats,
			PlainPattern:     true,
			RefDefs:          true,
			RefAlone:         true,
			Limits: rule.Limits{
				Depth: 10, Properties: 5_000, EnumValues: 1_000, EnumText: 15_000, EnumMany: 250, Text: 120_000,
			},
			Tool: rule.Tool{Name: plainName, MaxTools: 128, FewTools: 20},
			Sources: map[rule.Rule]rule.Source{
				rule.Unlisted: openAIStrict, rule.Root: openAIStrict, rule.Type: openAIStrict, rule.Boolean: openAIStrict,
				rule.Form: openAIStrict, rule.Properties: openAIObjects, rule.Objects: asConservative(openAIObjects),
				rule.Items: openAIArrays, rule.Required: openAIStrict,
				rule.Closed: openAIStrict, rule.Format: openAIStrict, rule.Pattern: openAIStrict, rule.Ref: openAIStrict,
				rule.Limit: openAIStrict, rule.Name: openAIFunction, rule.Count: openAICount,
			},
		},
	}
)

// Google's profiles.
var (
	// Gemini is FunctionDeclaration.parameters, a subset of OpenAPI 3.0. Its documentation allows names of 128
	// characters, but the API allows 64.
	Gemini = &Profile{
		name: "gemini", about: "Gemini's parameters, an OpenAPI 3.0 subset",
		rules: rule.Set{
			Root:             rule.Keywords{Only: geminiKeywords},
			Nested:           rule.Keywords{Only: geminiKeywords},
			Types:            withoutNull,
			TypeAlways:       true,
			TypeSingle:       true,
			TypedKeywords:    true,
			ArrayItems:       true,
			RequiredDeclared: true,
			RequiredFilled:   true,
			Enum:             []string{"string"},
			EnumFilled:       true,
			Formats:          []string{"enum", "date-time", "float", "double", "int32", "int64"},
			Key:              safeKey,
			Tool:             rule.Tool{Name: geminiName, MaxTools: 512, FewTools: 20},
			Sources: map[rule.Rule]rule.Source{
				rule.Unlisted: geminiUnknown, rule.Keyword: geminiTyped, rule.Root: geminiFunction, rule.Type: geminiTypes,
				rule.Boolean: geminiSchema, rule.Form: geminiSchema, rule.Items: geminiArrays, rule.Required: geminiRequired,
				rule.Enum: geminiEnum, rule.Format: asConservative(seenAt("google-gemini/gemini-cli#3178", "2025")),
				rule.Key:  geminiFunction,
				rule.Name: geminiNames, rule.Count: geminiCount,
			},
		},
	}

	// GeminiJSONSchema is FunctionDeclaration.parametersJsonSchema. Gemini unrolls recursion through optional
	// properties, to a limited depth.
	GeminiJSONSchema = &Profile{
		name: "gemini-jsonschema", about: "Gemini's parametersJsonSchema",
		rules: rule.Set{
			Root:             rule.Keywords{Only: geminiJSONKeywords},
			Nested:           rule.Keywords{Only: geminiJSONKeywords},
			TypeAlways:       true,
			ArrayItems:       true,
			RequiredDeclared: true,
			Enum:             []string{"string", "number"},
			EnumFilled:       true,
			RefAlone:         true,
			RefDefs:          true,
			NoRecursion:      true,
			Key:              safeKey,
			Tool:             rule.Tool{Name: geminiName, MaxTools: 512, FewTools: 20},
			Sources: map[rule.Rule]rule.Source{
				rule.Unlisted: asConservative(geminiJSON), rule.Root: geminiFunction,
				rule.Type:    asConservative(seenAt("google-gemini/gemini-cli#4400", "2025")),
				rule.Boolean: geminiJSON, rule.Form: geminiJSON, rule.Items: geminiArrays, rule.Required: geminiRequired,
				rule.Enum: geminiJSON, rule.Ref: geminiJSON, rule.Recursion: geminiJSON, rule.Key: geminiFunction,
				rule.Name: geminiNames, rule.Count: geminiCount,
			},
		},
	}
)

// Amazon's profiles.
var (
	// Bedrock is the Converse API with models that accept JSON Schema. It refuses the keywords that Claude refuses. It
	// also refuses lists of types, because a relay on Bedrock was seen to refuse them.
	Bedrock = &Profile{
		name: "bedrock", about: "Amazon Bedrock's Converse API",
		rules: rule.Set{
			Root:       rule.Keywords{Never: combinators},
			TypeSingle: true,
			Booleans:   true,
			RootKey:    claudeKey,
			Tool:       rule.Tool{Name: plainName, MinDescription: 1},
			Sources: map[rule.Rule]rule.Source{
				rule.Keyword: anthropicRoot, rule.Root: bedrockSchema, rule.Type: bedrockRelay, rule.Form: anthropicForm,
				rule.Ref:  references,
				rule.Key:  seenAt("aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws#709", ""),
				rule.Name: bedrockTool, rule.Description: bedrockTool,
			},
		},
	}

	// BedrockStrict is the Converse API with strict: true. Bedrock sends such a tool through the validator of
	// Anthropic's strict tools (BerriAI/litellm#39115).
	BedrockStrict = &Profile{
		name: "bedrock-strict", about: "Amazon Bedrock's Converse API with strict tools",
		rules: bedrockStrictRules(AnthropicStrict.rules),
	}

	// BedrockNova is the Converse API with Amazon's Nova models.
	BedrockNova = &Profile{
		name: "bedrock-nova", about: "Amazon's Nova models on Bedrock",
		rules: rule.Set{
			Root:             rule.Keywords{Only: []string{"type", "properties", "required"}},
			Nested:           rule.Keywords{Only: []string{"type", "description", "enum", "items", "properties", "required"}},
			RootListed:       true,
			RootProperties:   true,
			Types:            withoutNull,
			TypeAlways:       true,
			TypeSingle:       true,
			ObjectProperties: true,
			ArrayItems:       true,
			RequiredDeclared: true,
			Tool:             rule.Tool{Name: plainName, MinDescription: 1, MaxDescription: 10_000},
			Sources: map[rule.Rule]rule.Source{
				rule.Keyword: novaTool, rule.Unlisted: asConservative(novaTool), rule.Root: bedrockSchema,
				rule.Type:    asConservative(novaTool),
				rule.Boolean: asConservative(novaTool), rule.Form: asConservative(novaTool), rule.Properties: novaTool,
				rule.Objects: asConservative(novaTool),
				rule.Items:   asConservative(novaTool), rule.Required: asConservative(novaTool),
				rule.Name: bedrockTool, rule.Description: novaText,
			},
		},
	}
)

// bedrockStrictRules returns the rules for a tool of the Converse API, with Bedrock's sources.
func bedrockStrictRules(r rule.Set) rule.Set {
	r.Tool = Bedrock.rules.Tool
	sources := map[rule.Rule]rule.Source{}
	for broken, source := range r.Sources {
		switch {
		case broken == rule.Count:
		case source == anthropicStrict:
			sources[broken] = bedrockStrict
		default:
			sources[broken] = asConservative(source)
		}
	}
	sources[rule.Closed], sources[rule.Unlisted] = bedrockClosed, bedrockKeyword
	sources[rule.Limit] = asConservative(anthropicStrict)
	sources[rule.Name], sources[rule.Description] = bedrockTool, bedrockTool
	r.Sources = sources
	return r
}

// Profiles of other providers.
var (
	// Mistral is Mistral's chat completions. It requires JSON Schema and converts it into a grammar.
	Mistral = &Profile{
		name: "mistral", about: "Mistral's chat completions",
		rules: rule.Set{
			Root:     rule.Keywords{Never: []string{"$schema", "$id"}},
			Nested:   rule.Keywords{Never: []string{"$schema", "$id"}},
			Booleans: true,
			Tool:     rule.Tool{Name: plainName},
			Sources: map[rule.Rule]rule.Source{
				rule.Keyword: asConservative(seenAt("BerriAI/litellm#13389", "2025-08")),
				rule.Root:    asConservative(seenAt("UKGovernmentBEIS/inspect_ai#1562", "2025")),
				rule.Form:    seenAt("dust-tt/dust#23126", "2026-03"), rule.Ref: references,
				rule.Name: asConservative(seenAt("Kochava-Studios/witsy#164", "2025")),
			},
		},
	}

	// Moonshot is Moonshot's Kimi API, which has a published validator. The profile follows its documentation. The API
	// was seen to be milder with format and with unknown keywords such as $schema, which the profile therefore accepts.
	// It was seen to be stricter with $ref.
	Moonshot = &Profile{
		name: "moonshot", about: "Moonshot's Kimi models",
		rules: rule.Set{
			Root: rule.Keywords{Only: append([]string{"$schema", "$id", "$defs"}, moonshotKeywords...),
				Never: combinators},
			Nested: rule.Keywords{Only: append([]string{"anyOf"}, moonshotKeywords...),
				Never: []string{"$ref", "oneOf", "allOf"}},
			TypeAlways:       true,
			TypeSingle:       true,
			TypeInBranches:   true,
			TypedKeywords:    true,
			RequiredDeclared: true,
			NotKeys:          []string{"$defs", "$ref", "anyOf", "required", "additionalProperties"},
			Limits:           rule.Limits{Depth: 30, Properties: 3_000, EnumValues: 1_000, Branches: 500, Bytes: 120_000},
			Tool:             rule.Tool{Name: safeName, MaxTools: 128},
			Sources: map[rule.Rule]rule.Source{
				rule.Unlisted: asConservative(moonshotSchema), rule.Keyword: moonshotSchema, rule.Root: moonshotSchema,
				rule.Type:    moonshotSchema,
				rule.Boolean: moonshotSchema,
				rule.Form:    moonshotSchema, rule.Required: moonshotSchema, rule.Enum: moonshotSchema, rule.Key: moonshotSchema,
				rule.Limit: moonshotLimits, rule.Name: moonshotName, rule.Count: moonshotTools,
			},
		},
	}

	// Ollama is Ollama's chat API. It silently drops keywords for which it has no field. It passes the value of items
	// on unchanged, but no rule here expresses that.
	Ollama = &Profile{
		name: "ollama", about: "Ollama, which drops what it has no field for",
		rules: rule.Set{
			Root:    rule.Keywords{Only: []string{"type", "$defs", "items", "properties", "required"}},
			Nested:  rule.Keywords{Only: []string{"type", "description", "enum", "items", "properties", "required", "anyOf"}},
			Ignores: true,
			Sources: map[rule.Rule]rule.Source{rule.Unlisted: ollamaTypes, rule.Root: ollamaTypes,
				rule.Form: asConservative(ollamaTypes), rule.Boolean: ollamaTypes},
		},
	}

	// DeepSeek is DeepSeek's chat completions. Its validator reads patterns as the Rust crate regex does.
	DeepSeek = &Profile{
		name: "deepseek", about: "DeepSeek's chat completions",
		rules: rule.Set{
			Booleans: true, PlainPattern: true, RustPattern: true,
			Tool: rule.Tool{Name: plainName},
			Sources: map[rule.Rule]rule.Source{
				rule.Root: deepSeekRoot, rule.Form: deepSeekForm, rule.Pattern: deepSeekPattern, rule.Ref: references,
				rule.Name: deepSeekName,
			},
		},
	}

	// XAI is xAI's API. Its documentation lists the keywords that it does not support in schemas for answers.
	XAI = &Profile{
		name: "xai", about: "xAI's Grok models",
		rules: rule.Set{
			Root: rule.Keywords{Never: xaiNever}, Nested: rule.Keywords{Never: xaiNever},
			Booleans: true,
			Tool:     rule.Tool{Name: plainName, MaxTools: 200},
			Sources: map[rule.Rule]rule.Source{
				rule.Keyword: xaiOutputs, rule.Root: xaiOutputs, rule.Form: draft2020, rule.Ref: references,
				rule.Name:  asConservative(openAIFunction),
				rule.Count: xaiCount,
			},
		},
	}

	// Groq is GroqCloud's chat completions.
	Groq = &Profile{
		name: "groq", about: "GroqCloud's chat completions",
		rules: rule.Set{
			RootProperties: true, Booleans: true, RequiredBeside: true,
			Tool: rule.Tool{Name: plainName},
			Sources: map[rule.Rule]rule.Source{
				rule.Root: groqType, rule.Properties: groqProperties, rule.Required: groqRequired, rule.Form: draft2020,
				rule.Ref: references, rule.Name: asConservative(openAIFunction),
			},
		},
	}

	// CerebrasStrict is Cerebras' inference API, which requires that every object is closed.
	CerebrasStrict = &Profile{
		name: "cerebras-strict", about: "Cerebras' inference API, whose tools are strict",
		rules: rule.Set{
			Root:           rule.Keywords{Never: append([]string{"minItems", "maxItems"}, combinators...)},
			Nested:         rule.Keywords{Never: []string{"minItems", "maxItems", "allOf", "oneOf"}},
			RootProperties: true, TypeAlways: true, ObjectProperties: true, ArrayItems: true,
			RequiredDeclared: true, Closed: true,
			Tool: rule.Tool{Name: plainName},
			Sources: map[rule.Rule]rule.Source{
				rule.Keyword: cerebrasFields, rule.Root: cerebrasClosed, rule.Type: asConservative(cerebrasClosed),
				rule.Boolean: asConservative(cerebrasClosed), rule.Form: draft2020,
				rule.Properties: asConservative(cerebrasClosed), rule.Objects: asConservative(cerebrasClosed),
				rule.Items: cerebrasFields, rule.Required: asConservative(cerebrasClosed), rule.Closed: cerebrasClosed,
				rule.Ref:  references,
				rule.Name: asConservative(openAIFunction),
			},
		},
	}

	// LlamaCpp is llama.cpp's server, which makes one grammar of all tools, and LM Studio, which uses that server. A
	// list needs two more grammar rules than a string of the same length. 97,102 bytes of tools were accepted, and
	// 100,026 bytes were refused.
	LlamaCpp = &Profile{
		name: "llamacpp", about: "llama.cpp's server, and LM Studio on it",
		rules: rule.Set{
			Booleans: true, PlainPattern: true, AnchoredPattern: true,
			Limits: rule.Limits{Repeats: 1_999, Items: 1_997, Request: 97_000},
			Sources: map[rule.Rule]rule.Source{
				rule.Root: draft2020, rule.Form: draft2020, rule.Pattern: llamaPattern, rule.Limit: llamaRepeats,
				rule.Ref: references, rule.Request: llamaGrammar,
			},
		},
	}
)

var xaiNever = []string{"allOf", "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"}
