// One client whose calls wait for a person.
//
//     node approvals.mjs PROGRAM CLIENT
//
// takes the name of a program in clients/ and the name of one of its clients. Each line of stdin is a call: {"url", "key", "tool",
// "args"}. It has one connection for each url and key, and {"forget": true} closes them. A question to the client is a line of
// stdout, {"question": TEXT}, and the next line of stdin is the answer to it. What comes of the call is the last line: {"text": …},
// with the result as JSON or the text of an error. At the end of stdin it ends, and prints {"ended": true} before.
import { createInterface } from "node:readline";

console.log = console.error = console.warn = console.info = console.debug = () => {};
const print = process.stdout.write.bind(process.stdout);
const say = what => print(JSON.stringify(what) + "\n");
const [program, client] = process.argv.slice(2);
const { clients, end } = await import(`./clients/${program}.mjs`);
const open = clients[client];

let answered; // takes the answer to the question that the client is asked
const heard = {
  emit() {},
  ask: question => new Promise(answer => { answered = answer; say({ question }); }),
};

const connections = new Map();

function connected({ url, key }) {
  const name = JSON.stringify([url, key]);
  if (!connections.has(name)) connections.set(name, open(url, heard, key ? { Authorization: "Bearer " + key } : {}));
  return connections.get(name);
}

async function call(request) {
  try {
    const c = await connected(request);
    say({ text: JSON.stringify(await c.call(request.tool, request.args)) });
  } catch (e) {
    say({ text: "error: " + String(e?.cause?.message ?? e?.message ?? e) });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.action) {
    answered(message);
  } else if (message.forget) {
    for (const c of connections.values()) await c.then(c => c.close?.()).catch(() => {});
    connections.clear();
    say({ text: "closed" });
  } else {
    call(message);
  }
}
await end?.();
print(JSON.stringify({ ended: true }) + "\n", () => process.exit(0));
