// The AI SDK: it asks a server for the newest revision that both speak. A tool is called as a model's step would call it.
import { createMCPClient, ElicitationRequestSchema } from "@ai-sdk/mcp";

async function open(url, heard, headers) {
  const client = await createMCPClient({ transport: { type: "http", url, headers }, capabilities: { elicitation: {} } });
  client.onElicitationRequest(ElicitationRequestSchema, r => heard.ask(r.params.message));
  return {
    tools: async () => Object.keys(await client.tools()),
    call: async (name, args) => (await client.tools())[name].execute(args, { toolCallId: "1", messages: [] }),
    resources: async () => (await client.listResources()).resources.map(r => r.uri),
    read: uri => client.readResource({ uri }),
    prompts: async () => (await client.listPrompts()).prompts.map(p => p.name),
    prompt: name => client.getPrompt({ name }),
    answers: true,
    close: () => client.close(),
  };
}

export const clients = { "AI SDK": open };
