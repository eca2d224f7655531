// LangChain's adapters. They have tools and resources, and a hook for updates; prompts and subscriptions are the client's below
// them, which getClient is there for.
import { MultiServerMCPClient } from "@langchain/mcp-adapters";

async function open(url, heard, headers) {
  const all = new MultiServerMCPClient({
    mcpServers: { it: { transport: "http", url, headers } },
    useStandardContentBlocks: true,
    onResourcesUpdated: update => heard.emit("updated", update.uri),
  });
  await all.initializeConnections();
  const below = await all.getClient("it");
  return {
    tools: async () => (await all.getTools()).map(t => t.name),
    call: async (name, args) => (await all.getTools()).find(t => t.name === name).invoke(args),
    resources: async () => (await all.listResources()).it.map(r => r.uri),
    read: uri => all.readResource("it", uri),
    prompts: async () => (await below.listPrompts()).prompts.map(p => p.name),
    prompt: name => below.getPrompt({ name }),
    subscribe: uri => below.subscribeResource({ uri }),
    close: () => all.close(),
  };
}

export const clients = { "LangChain adapters": open };
