// OpenAI's Agents SDK. It has tools and resources.
import { getAllMcpTools, MCPServerStreamableHttp, RunContext, setTracingDisabled } from "@openai/agents-core";

setTracingDisabled(true);

async function open(url, heard, headers) {
  const server = new MCPServerStreamableHttp({ url, name: "it", requestInit: { headers } });
  await server.connect();
  return {
    tools: async () => (await getAllMcpTools([server])).map(t => t.name),
    call: async (name, args) => (await getAllMcpTools([server])).find(t => t.name === name).invoke(new RunContext(), JSON.stringify(args)),
    resources: async () => (await server.listResources()).resources.map(r => r.uri),
    read: uri => server.readResource(uri),
    close: () => server.close(),
  };
}

export const clients = { "OpenAI Agents": open };
