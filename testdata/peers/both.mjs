// A server of the TypeScript SDK 2 on stdio, with the tools, prompts and resources that the conformance suite asks for. It serves both
// eras, and server/discover names only 2026-07-28. The tools that ask send requests to the client, which only a legacy session has.
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const sound = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
const text = text => ({ type: "text", text });
const image = { type: "image", data: pixel, mimeType: "image/png" };
const embedded = (uri, mimeType, text) => ({ type: "resource", resource: { uri, mimeType, text } });
const content = (...content) => ({ content });
const soon = () => new Promise(ok => setTimeout(ok, 50));
const string = (more = {}) => ({ type: "string", ...more });
const titled = ["First", "Second", "Third"].map((title, i) => ({ const: `value${i + 1}`, title: `${title} Option` }));

// form is a tool that asks for a form.
const form = (properties, required) => async (ctx, { message = "please" } = {}) => {
  const { action, content: given } = await ctx.mcpReq.send({ method: "elicitation/create", params: { message, requestedSchema: { type: "object", properties, required } } });
  return content(text(`action=${action}, content=${JSON.stringify(given)}`));
};

const tools = {
  test_simple_text: () => content(text("This is a simple text response for testing.")),
  test_image_content: () => content(image),
  test_audio_content: () => content({ type: "audio", data: sound, mimeType: "audio/wav" }),
  test_embedded_resource: () => content(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
  test_multiple_content_types: () =>
    content(text("Multiple content types test:"), image, embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')),
  test_error_handling: () => ({ isError: true, ...content(text("This tool intentionally returns an error for testing")) }),
  test_tool_with_logging: async ctx => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await ctx.mcpReq.notify({ method: "notifications/message", params: { level: "info", data } });
      await soon();
    }
    return content(text("logged"));
  },
  test_tool_with_progress: async ctx => {
    const { progressToken } = ctx.mcpReq._meta ?? {};
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
      await soon();
    }
    return content(text("done"));
  },
  test_sampling: async (ctx, { prompt }) => {
    const answer = await ctx.mcpReq.send({ method: "sampling/createMessage", params: { messages: [{ role: "user", content: text(prompt) }], maxTokens: 100 } });
    return content(text("LLM response: " + JSON.stringify(answer.content)));
  },
  test_elicitation: form({ username: string(), email: string() }, ["username", "email"]),
  test_elicitation_sep1034_defaults: form({
    name: string({ default: "John Doe" }), age: { type: "integer", default: 30 }, score: { type: "number", default: 95.5 },
    status: string({ enum: ["active", "inactive", "pending"], default: "active" }), verified: { type: "boolean", default: true },
  }),
  test_elicitation_sep1330_enums: form({
    untitledSingle: string({ enum: ["option1", "option2", "option3"] }), titledSingle: string({ oneOf: titled }),
    legacyEnum: string({ enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] }),
    untitledMulti: { type: "array", items: string({ enum: ["option1", "option2", "option3"] }) }, titledMulti: { type: "array", items: { anyOf: titled } },
  }),
};

const says = content => ({ role: "user", content });
const prompts = {
  test_simple_prompt: [[], () => [says(text("This is a simple prompt for testing."))]],
  test_prompt_with_arguments: [["arg1", "arg2"], a => [says(text(`Prompt with arguments: arg1='${a.arg1}', arg2='${a.arg2}'`))]],
  test_prompt_with_embedded_resource: [["resourceUri"], a => [says(embedded(a.resourceUri, "text/plain", "Embedded resource content for testing."))]],
  test_prompt_with_image: [[], () => [says(image), says(text("Please analyze the image above."))]],
};

const resources = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: pixel },
  "test://watched-resource": { mimeType: "text/plain", text: "This is watched." },
};

serveStdio(() => {
  const server = new Server({ name: "both", version: "1" }, { capabilities: { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {}, logging: {} } });
  const handle = (method, answer) => server.setRequestHandler(method, (r, ctx) => answer(r.params ?? {}, ctx));
  const described = name => ({ name, description: name });
  handle("tools/list", () => ({ tools: Object.keys(tools).map(name => ({ ...described(name), inputSchema: { type: "object" } })) }));
  handle("tools/call", (p, ctx) => tools[p.name](ctx, p.arguments));
  handle("prompts/list", () => ({ prompts: Object.entries(prompts).map(([name, [args]]) => ({ ...described(name), arguments: args.map(name => ({ name, required: true })) })) }));
  handle("prompts/get", p => ({ messages: prompts[p.name][1](p.arguments) }));
  handle("resources/list", () => ({ resources: Object.entries(resources).map(([uri, { mimeType }]) => ({ uri, ...described(uri), mimeType })) }));
  handle("resources/templates/list", () => ({ resourceTemplates: [{ uriTemplate: "test://template/{id}/data", ...described("template") }] }));
  handle("resources/read", ({ uri }) => {
    const id = /^test:\/\/template\/(.*)\/data$/.exec(uri)?.[1];
    return { contents: [{ uri, ...(id ? { mimeType: "application/json", text: JSON.stringify({ id }) } : resources[uri]) }] };
  });
  handle("resources/subscribe", () => ({}));
  handle("resources/unsubscribe", () => ({}));
  handle("completion/complete", () => ({ completion: { values: ["test"], total: 1, hasMore: false } }));
  handle("logging/setLevel", () => ({}));
  return server;
});
