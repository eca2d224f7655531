// The Inspector's mcpdo in each era. Its daemon holds the connections; the commands run in this process, each with an output of
// its own, because a process for each of them takes longer than all else.
import { AsyncLocalStorage } from "node:async_hooks";
import { runMcp } from "@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js";

const outputs = new AsyncLocalStorage(), print = process.stdout.write.bind(process.stdout);
process.stdout.write = (chunk, ...rest) => {
  const hear = outputs.getStore();
  if (!hear) return print(chunk, ...rest);
  hear(String(chunk));
  rest.at(-1)?.();
  return true;
};
process.stderr.write = () => true;

// mcpdo runs a command; hear gets all that it has printed so far, each time.
export async function mcpdo(hear, ...args) {
  let out = "";
  await outputs.run(chunk => { out += chunk; hear?.(out); }, () => runMcp(["node", "mcpdo", "--format", "json", ...args]))
    .catch(e => { throw out ? new Error(out) : e; }); // a result with isError is printed, and then an error too
  return JSON.parse(out || "null");
}

let connections = 0;

function open(era) {
  return async (url, heard, headers = {}) => {
    const it = "it" + ++connections;
    const run = (...args) => mcpdo(null, "--connection", it, ...args);
    const sent = Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]);
    await run("connect", "--server-url", url, ...sent, "--transport", "http", "--era", era, "@" + it);
    return {
      tools: async () => (await run("tools/list")).tools.map(t => t.name),
      call: async (name, args) => {
        let result = await run("tools/call", name, JSON.stringify(args));
        for (let asked; (asked = result.elicitationPending);) {
          const answer = await heard.ask(asked.message);
          result = await run("elicitation/respond", asked.elicitationId, answer.content ? JSON.stringify(answer.content) : "--" + answer.action);
        }
        return result;
      },
      resources: async () => (await run("resources/list")).resources.map(r => r.uri),
      read: uri => run("resources/read", uri),
      prompts: async () => (await run("prompts/list")).prompts.map(p => p.name),
      prompt: name => run("prompts/get", name),
      answers: true,
      subscribe: uri => new Promise((subscribed, no) => {
        const hear = out => {
          if (out.includes('"subscribed"')) subscribed();
          if (out.includes('"resources/updated"')) heard.emit("updated", uri);
        };
        mcpdo(hear, "--connection", it, "resources/subscribe", uri).catch(no);
      }),
      close: () => run("disconnect", it),
    };
  };
}

export const clients = { "Inspector, legacy": open("legacy"), "Inspector, modern": open("modern") };
export const end = () => mcpdo(null, "daemon", "stop");
