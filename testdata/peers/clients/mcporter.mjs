// mcporter's runtime, which its command line is made of.
import { createRuntime } from "mcporter";

async function open(url, heard, headers) {
  const runtime = await createRuntime({ servers: [{ name: "it", command: { kind: "http", url: new URL(url), headers } }] });
  await runtime.connect("it");
  return {
    tools: async () => (await runtime.listTools("it")).map(t => t.name),
    call: (name, args) => runtime.callTool("it", name, { args }),
    resources: async () => (await runtime.listResources("it")).resources.map(r => r.uri),
    read: uri => runtime.readResource("it", uri),
    close: () => runtime.close(),
  };
}

export const clients = { "mcporter": open };
