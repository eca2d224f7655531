// Genkit. Tools, resources and prompts are its own objects.
import { createMcpClient } from "@genkit-ai/mcp";
import { genkit } from "genkit";

const ai = genkit({});

async function open(url, heard, headers) {
  const client = createMcpClient({ name: "it", mcpServer: { url, requestInit: { headers } } });
  await client.ready();
  const tools = () => client.getActiveTools(ai);
  return {
    tools: async () => (await tools()).map(t => t.__action.name),
    call: async (name, args) => (await tools()).find(t => t.__action.name.endsWith("/" + name))(args),
    resources: async () => (await client.getActiveResources(ai)).map(r => r.__action.metadata.resource.uri),
    read: async uri => (await client.getActiveResources(ai)).find(r => r.matches({ uri }))({ uri }),
    prompts: async () => (await client.getActivePrompts(ai)).map(p => p.ref.name),
    prompt: async name => (await client.getPrompt(ai, name)).render(),
    close: () => client.disable(),
  };
}

export const clients = { "Genkit": open };
