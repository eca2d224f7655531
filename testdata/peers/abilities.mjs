// What a client can do at the URLs of servers that have what go-sdk's conformance server has.
//
//     node abilities.mjs PROGRAM '{"name": {"url": …, "calls": …}, …}'
//
// takes the name of a program in clients/ and the places to try, each a url, the names that things have there:
// calls (a tool), asks (a tool that asks its caller something), prompt, reads (a resource), watched (one that changes), and patience,
// for how many seconds an update may take.
// It prints for each client and place what came of each ability, "" or an error; what a client has no means for, is not there.
import { EventEmitter } from "node:events";

console.log = console.error = console.warn = console.info = console.debug = () => {};
const [program, places] = process.argv.slice(2);
const { clients, end } = await import(`./clients/${program}.mjs`);

// answer is what a client says to each question.
const answer = { action: "accept", content: { username: "u", email: "u@example.com", name: "u" } };

// some is what there has to be some of.
function some(what, ok = what?.length > 0) {
  if (!ok) throw new Error("got " + JSON.stringify(what));
}

// within is a promise that fails after some seconds.
function within(seconds, promise) {
  let timer;
  const late = new Promise((_, no) => { timer = setTimeout(() => no(new Error(`nothing within ${seconds} s`)), 1000 * seconds); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// abilities has one client do all that it can at one place. open connects it: what it returns has a method for each thing that it
// has means for. What it is asked it answers with heard.ask(message), and what it hears of resources is heard.emit("updated", uri).
async function abilities(open, at) {
  const out = {}, heard = new EventEmitter();
  const attempt = async (name, run) => {
    out[name] = await within(name === "subscribes" ? at.patience : 60, run()).then(() => "", e => String(e?.cause?.message ?? e?.message ?? e).replace(/\s+/g, " ").slice(0, 300));
  };
  let asked = 0, c;
  heard.ask = async () => (asked++, answer);
  await attempt("connects", async () => { c = await open(at.url, heard); });
  if (!c) return out;
  const update = new Promise(ok => heard.on("updated", uri => uri === at.watched && ok()));
  const subscribed = c.subscribe && attempt("subscribes", async () => { await c.subscribe(at.watched); await update; });
  const steps = {
    "lists tools": c.tools && (async () => { const r = await c.tools(); some(r, r.some(name => name.endsWith(at.calls))); }),
    "calls": c.call && (async () => some(JSON.stringify(await c.call(at.calls, {})).match(/simple text response/))),
    "lists resources": c.resources && (async () => { const r = await c.resources(); some(r, r.includes(at.watched)); }),
    "reads": c.read && (async () => some(JSON.stringify(await c.read(at.reads)).match(/static text resource/))),
    "lists prompts": c.prompts && (async () => { const r = await c.prompts(); some(r, r.includes(at.prompt)); }),
    "gets a prompt": c.prompt && (async () => some(JSON.stringify(await c.prompt(at.prompt)).match(/simple prompt/))),
    "answers a question": c.answers && (async () => {
      const r = JSON.stringify(await c.call(at.asks, { message: "who?" }));
      some(r, asked === 1 && /example.com|Hello, u|accept/.test(r));
    }),
  };
  for (const [name, run] of Object.entries(steps)) if (run) await attempt(name, run);
  await subscribed;
  await c.close?.();
  return out;
}

const found = {};
await Promise.all(Object.entries(clients).flatMap(([client, open]) =>
  Object.entries(JSON.parse(places)).map(async ([name, at]) => { (found[client] ??= {})[name] = await abilities(open, at); })));
await end?.();
process.stdout.write(JSON.stringify(found) + "\n", () => process.exit(0));
