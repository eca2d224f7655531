// Uses the page of indus serve in a real browser, as a person, a screen reader and an attacker do.
//
//	node page.mjs '{"link": …, "site": …}' [CHECK]...
//
// Prints a line for each check: "ok NAME", or "FAIL NAME: REASON". With "shots", it writes pictures of all sections there.
// "pictures" is a directory for pictures that are compared, and "clients" the number of calls at once.
import { createServer } from "node:http";
import axe from "axe-core";
import { launch } from "./chromium.mjs";

const given = JSON.parse(process.argv[2]);
const site = new URL(given.site);
const browser = await launch(["evil.example", "other.example"]);
const problems = []; // of all pages: errors, foreign requests, dialogs

// open returns a page that notes everything that must not happen.
async function open(context = browser) {
  const page = await context.newPage();
  page.on("pageerror", (e) => problems.push(`error: ${e.message}`));
  page.on("console", (m) => {
    if (m.type() === "error" && !/status of 40[34]/.test(m.text())) problems.push(`console: ${m.text()}`);
  });
  page.on("dialog", (d) => { problems.push(`dialog: ${d.message()}`); d.dismiss(); });
  page.on("request", (r) => {
    const to = new URL(r.url());
    if (to.protocol !== "data:" && to.host !== site.host && !page.mayLeave) problems.push(`request to ${r.url()}`);
  });
  return page;
}

function must(condition, text) {
  if (!condition) throw new Error(text);
}

const text = (page, selector = "body") => page.$eval(selector, (e) => e.innerText);
const go = (page, path) => page.goto(new URL(path, site).href, { waitUntil: "load" });

// until waits for a condition in the page, for at most 20 s.
async function until(page, condition, ...args) {
  for (;;) {
    try {
      return await page.waitForFunction(condition, { timeout: 20_000 }, ...args);
    } catch (e) {
      if (browser.connected && /context was destroyed|detached/.test(e.message)) continue; // the page has changed meanwhile
      throw new Error(`${e.message}: ${condition} ${JSON.stringify(args)}`.slice(0, 400));
    }
  }
}

const says = (page, words) => until(page, (w) => document.body.innerText.includes(w), words);

// callTool calls a tool as an MCP client, and returns the answer as text.
async function callTool(name, args = {}, client = "claude-code") {
  const meta = "io.modelcontextprotocol/";
  const answer = await fetch(new URL("/mcp", site), {
    method: "POST",
    headers: {
      "Content-Type": "application/json", Accept: "application/json, text/event-stream", "Mcp-Method": "tools/call",
      "Mcp-Protocol-Version": "2026-07-28", "Mcp-Name": name,
    },
    body: JSON.stringify({
      jsonrpc: "2.0", id: 1, method: "tools/call", params: {
        name, arguments: args, _meta: {
          [`${meta}protocolVersion`]: "2026-07-28", [`${meta}clientCapabilities`]: {},
          [`${meta}clientInfo`]: { name: client, version: "1" },
        },
      },
    }),
  });
  return answer.text();
}

// click presses a button by the pointer, again if the page has changed just before.
async function click(page, selector) {
  for (;;) {
    await page.waitForSelector(selector, { timeout: 20_000 });
    await until(page, () => [...moved.values()].every((move) => isSettled(move, performance.now())));
    await page.evaluate(() => { document.getElementById("connection").textContent = ""; });
    try {
      await page.click(selector);
    } catch (e) { // the page has replaced the button before it was pressed
      if (!/detached/.test(e.message)) throw e;
      continue;
    }
    const text = await page.$eval("#connection", (e) => e.textContent).catch(() => "");
    if (!text.includes("press again")) return;
  }
}

// live waits until a page gets events.
const live = (page) => until(page, () => document.getElementById("connection").textContent === "Live");

// show tells a page that its tab is visible, or not. Without a window, all tabs are.
const show = (page, visible) => page.evaluate((hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.getElementById("connection").textContent = "";
  document.dispatchEvent(new Event("visibilitychange"));
}, !visible);

// press moves to a button by the keyboard alone and presses it.
async function press(page, selector) {
  for (let i = 0; i < 400; i++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((s) => document.activeElement?.matches(s), selector)) return page.keyboard.press("Enter");
  }
  throw new Error(`the keyboard does not reach ${selector}`);
}

const page = await open();
await page.goto(given.link, { waitUntil: "load" });
await until(page, () => location.pathname === "/");
const paths = await page.$$eval("nav[aria-label=Sections] a", (all) => all.map((a) => a.getAttribute("href")));

// data returns a section as JSON.
const data = (path) => page.evaluate(async (p) => (await fetch(p, { headers: { Accept: "application/json" } })).json(), path);

// has waits until the data of a section are as they should be, for at most a minute.
async function has(path, holds) {
  for (const from = Date.now(); !holds(await data(path)); await new Promise((done) => setTimeout(done, 200))) {
    must(Date.now() - from < 60_000, `${path} has not become as it should be`);
  }
}

// fill makes calls of every outcome, four that wait, and three tools that are held back.
async function fill() {
  await has("/servers", ({ servers }) => servers.every((s) => s.phase === "ready" || s.fault));
  for (let i = 0; i < 4; i++) await callTool("everything__echo", { message: "hello" });
  await callTool("fs__list_directory", { path: "/none" });
  await callTool("work__search", { query: "timeout" });
  await callTool("fs__write_file", { path: "/srv/plan.md", content: "# Plan\n\n1. Back up.\n2. Migrate.\n\nThen stop.\n" });
  await callTool("fs__edit_file", { path: "/srv/report.md", edits: [{ oldText: "Sales rose by 4 %.\nCosts fell.",
    newText: "Sales rose by 14 %.\nCosts fell, too." }] });
  await callTool("work__run", { command: "find . -name '*.tmp' -delete && git push --force origin main", cwd: "/srv" }, "codex");
  await callTool("everything__get-sum", { a: 7, b: 8 }, "codex");
  await callTool("work__publish");
  await has("/changes", ({ tools }) => tools.length === 3);
}

// freeze stops a page, and gives a fixed text to all that differs from run to run.
const freeze = (page, ids) => until(page, (ids, dir) => {
  if (fetching) return false;
  const all = (selector) => [...document.querySelectorAll(selector)];
  for (const e of all("[data-live]")) e.removeAttribute("data-live");
  for (const e of all("[data-until]")) e.replaceWith(Object.assign(document.createElement("b"), { textContent: "9m30s" }));
  for (const e of all("#usage-live tbody")) {
    e.append(...[...e.rows].sort((a, b) => a.cells[0].innerText < b.cells[0].innerText ? -1 : 1));
  }
  for (const e of all("td[data-label=Tokens] > div, td[data-label='Per minute'] > div")) e.textContent = "10";
  document.getElementById("connection").textContent = "Live";
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const varying = [
    [/\d{4}-\d\d-\d\d (\d\d:\d\d:\d\d)/g, "$1"], [/\d\d:\d\d:\d\d/g, "12:00:00"], [/127\.0\.0\.1:\d+/g, "127.0.0.1:7332"],
    [/(\d+m)?\b\d+(\.\d+)?(µs|ms|s)\b/g, "12ms"], [/\b\d+ k?B\b/g, "100 B"], [/process \d+/g, "process 1"],
    [/[0-9a-f]{32,}/g, "0".repeat(32)], [/is being tried again now/g, "is tried again in 12ms"], [/^connecting$/g, "faulted"],
    [new RegExp(ids.join("|") || "^$", "g"), "7K2F"], [new RegExp(dir + "[^ ]*/", "g"), "/srv/"],
  ];
  while (texts.nextNode()) {
    for (const [from, to] of varying) texts.currentNode.data = texts.currentNode.data.replace(from, to);
  }
  for (const rule of ["svg.plot *, svg.spark * { visibility: hidden }", "* { animation: none !important; caret-color: transparent }"]) {
    document.styleSheets[0].insertRule(rule, document.styleSheets[0].cssRules.length);
  }
  return true;
}, ids, given.dir);

// look sets the width and the scheme of a page, and fails if a part of it is beyond the screen.
async function look(page, at, width, scheme) {
  await page.setViewport({ width, height: 800 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  const wide = await page.evaluate(() => [document.documentElement, ...document.querySelectorAll("body *:not(.skip)")].filter((e) =>
    !e.closest("thead, pre") && e.getBoundingClientRect().right > innerWidth + 1 || e.matches("html") && e.scrollWidth > innerWidth)
    .map((e) => e.outerHTML.slice(0, 100)));
  const squeezed = await page.evaluate(() => [...document.querySelectorAll("td > div")].filter((e) =>
    e.offsetWidth < 64 && e.offsetHeight > 80).map((e) => e.innerText.slice(0, 50)));
  must(squeezed.length === 0, `${at}: letters below each other: ${squeezed.slice(0, 3)}`);
  must(wide.length === 0 || width > 600 && wide.every((e) => !e.startsWith("<html")), `${at}: too wide: ${wide.slice(0, 3)}`);
}

// picture writes the first screens of a page in half of their size, which package picture halves again.
async function picture(page, name, width) {
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  const clip = { x: 0, y: 0, width, height: Math.min(height, 1200), scale: 0.5 };
  await page.screenshot({ path: `${given.pictures}/${name}.png`, clip, captureBeyondViewport: true });
}

// counting keeps the titles of notifications in shown. This browser has the permission and shows none, so that its
// Notification.permission is not what the permission is.
function counting(isHidden) {
  window.shown = [];
  window.Notification = class extends Notification {
    static get permission() { return "granted"; }
    constructor(title, more) { super(title, more); shown.push(title); }
  };
  if (isHidden) Object.defineProperty(document, "hidden", { value: true, configurable: true });
}

const checks = {
  fill, // the next ones need it

  // Every section: as its golden pictures, no flaw for screen readers, no markup of others, and no wider than the screen.
  async sections() {
    must(paths.length > 5, `sections: ${paths}`);
    const { waiting } = await data("/approvals");
    must(waiting.length === 4, `${waiting.length} calls wait`);
    const all = paths.map((path) => path === "/try" ? "/try?server=everything" : path);
    for (const path of [...all, "/try?tool=fs__edit_file", "/try?tool=work__search", "/connect?client=cursor"]) {
      const name = path.slice(1).replace(/\W/g, "-") || "overview";
      await go(page, path);
      await freeze(page, waiting.map((i) => i.id));
      await page.evaluate(axe.source);
      for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "dark"], [390, "light"]]) {
        const at = `${path} at ${width} ${scheme}`;
        await look(page, at, width, scheme);
        await picture(page, `${name}-${width}-${scheme}`, width);
        if ((scheme === "light") === (width === 390)) continue; // the rest differs by color or by width alone
        if (scheme === "dark" && path.includes("?")) continue;
        const found = await page.evaluate(async () => (await axe.run({ resultTypes: ["violations"] })).violations.map((v) =>
          `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | ")}`));
        must(found.length === 0, `${at}: ${found.join("; ")}`);
        await clean(at);
      }
      await look(page, `${path} at 360`, 360, "light");
    }
    // These are broken on purpose: the comparison has to find them.
    for (const [path, rule] of Object.entries(given.broken)) {
      await go(page, path);
      await freeze(page, waiting.map((i) => i.id));
      await page.evaluate((r) => document.styleSheets[0].insertRule(r, document.styleSheets[0].cssRules.length), rule);
      await page.setViewport({ width: 390, height: 800 });
      await picture(page, `broken/${path.slice(1) || "overview"}-390-light`, 390);
    }
    await page.setViewport({ width: 1280, height: 800 });
  },

  // The JSON of each section, which has no markup either.
  async json() {
    for (const path of paths.slice(1)) {
      const type = await page.evaluate(async (p) => {
        const answer = await fetch(p, { headers: { Accept: "application/json" } });
        await answer.json();
        return answer.headers.get("Content-Type");
      }, path);
      must(type === "application/json", `${path}: ${type}`);
    }
  },

  async keyboard() {
    await page.setViewport({ width: 1280, height: 800 });
    await go(page, "/servers");
    await page.keyboard.press("Tab");
    must(await page.evaluate(() => document.activeElement.matches(".skip")), "the first stop is not the skip link");
    await page.keyboard.press("Enter");
    must(await page.evaluate(() => location.hash === "#main"), "the skip link leads nowhere");
    await go(page, "/servers");
    await press(page, `button[aria-label="Restart fs"]`);
    await says(page, "fs is being restarted");
    await until(page, () => document.activeElement.id === "notice"); // Tab goes on from there
    await press(page, `nav a[href="/calls"]`);
    await until(page, () => document.title.includes("Calls"));
    // Each key changes a choice, and the button sends it.
    await page.focus("#outcome");
    for (const key of "ddd") await page.keyboard.press(key);
    const chosen = await page.$eval("#outcome", (e) => e.value);
    must(chosen !== "" && await page.evaluate(() => location.search === ""), `sent too early: ${chosen}`);
    await press(page, "form[role=search] button");
    await until(page, (outcome) => location.search.includes(`outcome=${outcome}`), chosen);
    await until(page, () => document.activeElement.matches("main, main .wide"));
    // What has the focus may go while the page changes: the keyboard stays in the content.
    await live(page);
    await page.evaluate(() => {
      const region = document.getElementById("calls-live"), fresh = region.cloneNode();
      region.querySelector("h2").tabIndex = -1;
      region.querySelector("h2").focus();
      replace(region, fresh);
    });
    must(await page.evaluate(() => document.activeElement.id === "main"), "the focus is lost");
  },

  // A call appears without a reload, and can be cancelled.
  async calls() {
    await go(page, "/calls");
    await live(page);
    const call = callTool("everything__trigger-long-running-operation", { duration: 60, steps: 60 });
    const button = `button[aria-label="Cancel trigger-long-running-operation"]`;
    await page.waitForSelector(button, { timeout: 20_000 });
    await click(page, button);
    await says(page, "the request is cancelled");
    must((await call).includes("an operator has cancelled"), "the client got no error");
    await page.select("#outcome", "error"); // sends the form by itself
    await until(page, () => location.search.includes("outcome=error"));
  },

  // A question stays while the page changes, and ends by itself.
  async questions() {
    await go(page, "/servers");
    await live(page);
    const off = "form[action='/servers/disable']:has([value=fs]) button";
    await click(page, off);
    for (let i = 0; i < 4; i++) {
      await callTool("everything__echo", { message: "x" });
      await new Promise((done) => setTimeout(done, 700));
      must(await page.$eval(off, (e) => e.textContent) === "Really?", "the question is gone");
    }
    await until(page, (s) => document.querySelector(s)?.textContent === "Switch off", off);
    must(await page.$eval(off, (e) => e.getAttribute("aria-label")) === "Switch off fs", "the button lost its name");
  },

  // A person allows one call and denies another. The page shows both without a reload.
  async approvals() {
    await go(page, "/approvals");
    const ask = () => callTool("everything__get-sum", { a: 2, b: 40 });
    const id = async () => /approval (\w{4})/.exec(await ask())[1];
    let waiting = await id();
    await page.waitForSelector(`#allow-${waiting}`, { timeout: 20_000 });
    must(/\ba\s+2\s+b\s+40\b/.test(await text(page)), "the arguments are not shown");
    await page.click(`#json-${waiting} summary`);
    must((await text(page)).includes('"a": 2'), "the exact arguments are not shown");
    await click(page, `#allow-${waiting}`);
    await until(page, (w) => !document.getElementById(`allow-${w}`), waiting);
    must((await ask()).includes("42"), "an allowed call does not run");
    waiting = await id();
    await page.waitForSelector(`#deny-${waiting}`, { timeout: 20_000 });
    await page.type(`#reason-${waiting}`, "not on a Friday");
    await click(page, `#deny-${waiting}`);
    await until(page, (w) => !document.getElementById(`deny-${w}`), waiting);
    must((await ask()).includes("not on a Friday"), "a denied call has no reason");
  },

  // A tool is called by its form; hostile schemas and answers stay text.
  async tries() {
    const form = "form[action='/try/call']";
    const call = async (tool) => {
      await page.waitForSelector(form);
      await page.evaluate((f) => document.querySelector(f).requestSubmit(), form);
      await until(page, () => document.getElementById("answer"));
      await clean(`/try/call of ${tool}`);
      return text(page, "main");
    };
    await go(page, "/try?tool=everything__echo");
    await page.type(`${form} input[type=text], ${form} textarea`, "hello");
    must((await call("echo")).includes("Echo: hello"), "no answer");
    await go(page, "/try?tool=everything__get-tiny-image");
    await call("get-tiny-image");
    must(await page.$eval("img[src^='data:image/']", (i) => i.naturalWidth > 0), "no picture");
    const hostile = await page.evaluate(async () => {
      const all = await (await fetch("/servers", { headers: { Accept: "application/json" } })).json();
      return all.servers.find((s) => s.id === "h0");
    });
    if (!hostile) return;
    await go(page, "/try?tool=h0__tool_0");
    await clean("/try of a hostile tool");
    await page.evaluate(axe.source);
    const found = await page.evaluate(async () => (await axe.run()).violations.map((v) => v.id + v.nodes[0].html));
    must(found.length === 0, `a hostile form: ${found}`);
    await call("a hostile tool");
  },

  // The key of a client is made on the spot only if clients need one; the lines never are.
  async connects() {
    await go(page, "/connect");
    await says(page, new URL("/mcp", site).href);
    await clean("/connect");
    await go(page, "/connect?client=cursor");
    await click(page, "[data-copy=connect-file]"); // this browser lets no page copy
    await until(page, () => document.getSelection().toString().includes("mcpServers"));
    await says(page, "Selected: copy it");
  },

  // A button that comes under the pointer is not pressed, and the keyboard stays where it is.
  async pointer() {
    const ask = async (a) => /approval (\w{4})/.exec(await callTool("everything__get-sum", { a, b: 1 }))[1];
    const [first, second] = [await ask(11), await ask(12)];
    await page.setViewport({ width: 1280, height: 3000 });
    await go(page, "/approvals");
    await live(page);
    const at = await page.$eval(`#allow-${first}`, (e) => e.getBoundingClientRect().toJSON());
    await page.focus(`#deny-${second}`);
    const other = await open();
    await go(other, "/approvals");
    await click(other, `#deny-${first}`);
    await says(other, `denied ${first}`);
    await other.close();
    await page.bringToFront();
    const [focused, next] = await page.evaluate(async (id, { x, y }) => {
      while (document.getElementById(id)) await new Promise(requestAnimationFrame);
      stale.add("approvals-waiting");
      await refresh(); // a change that moves nothing
      for (const move of moved.values()) move.time += 60_000; // the click may be late on a busy machine
      return [document.activeElement.id, document.elementFromPoint(x + 9, y + 9).id];
    }, `allow-${first}`, at);
    await page.mouse.click(at.x + 9, at.y + 9);
    must(focused === `deny-${second}`, "the focus is lost");
    must(next === `allow-${second}`, "the next call is elsewhere");
    await says(page, "press again");
    must(await page.$(`#allow-${second}`), "a button that has just come was pressed");
    await page.focus(`#deny-${second}`);
    await page.keyboard.press("Enter");
    await says(page, `denied ${second}`);
    await page.setViewport({ width: 1280, height: 800 });
  },

  // Browsers open six connections to a host. Tabs that are not visible need none.
  async tabs() {
    const all = [];
    for (let i = 0; i < 8; i++) {
      const tab = await open();
      all.push(tab);
      await go(tab, "/servers");
      await live(tab);
      await show(tab, false);
    }
    await show(all[0], true);
    await live(all[0]);
  },

  async policy() {
    await go(page, "/policy");
    await page.type("#item", "everything/get-sum");
    await page.keyboard.press("Enter");
    await says(page, "sums");
    await until(page, () => location.pathname === "/policy/explain");
    await clean("/policy/explain");
  },

  async audit() {
    await go(page, "/audit?tool=get-sum");
    await says(page, "get-sum");
    await page.click("form[action='/audit/verify'] button");
    await until(page, () => location.pathname === "/audit/verify");
    await says(page, "records");
    await clean("/audit/verify");
  },

  // A second click is needed where something ends.
  async switches() {
    await go(page, "/servers");
    const off = "form[action='/servers/disable']:has([value=fs]) button", on = off.replace("disable", "enable");
    await click(page, off);
    await until(page, (s) => document.querySelector(s)?.textContent === "Really?", off);
    await click(page, off);
    await says(page, "fs is off at");
    await page.waitForSelector(on, { timeout: 20_000 });
    await click(page, on);
    await says(page, "fs is on at");
  },

  // A stranger: no cookie, a used link, a guessed link.
  async strangers() {
    const context = await browser.createBrowserContext();
    const stranger = await open(context);
    for (const path of [...paths, "/enter?link=AAAA"]) {
      const answer = await go(stranger, path);
      must(answer.status() === 403, `${path}: ${answer.status()}`);
      must((await text(stranger)).includes("indus page"), `${path}: no way is shown`);
    }
    await context.close();
  },

  // Many calls run at once: the counts follow, also where a person types, and nothing typed is lost.
  async crowd() {
    const asks = (n) => callTool("everything__get-sum", { a: 1000, b: n });
    await asks(0);
    const { waiting } = await data("/approvals"), first = waiting[0].id;
    const [reason, field] = [`#reason-${first}`, "form[action='/try/call'] input[type=text]"];
    const denier = await open(), caller = await open(), watcher = await open(), title = await open();
    for (const [tab, path] of [[denier, "/approvals"], [caller, "/try?tool=fs__list_directory"], [watcher, "/calls"], [title, "/"]]) {
      await go(tab, path);
      await live(tab);
    }
    await denier.type(reason, "not while ");
    await caller.type(field, "/srv/");
    const before = waiting.length;
    const calls = Array.from({ length: given.clients }, () => callTool("work__wait"));
    const many = Math.min(given.clients, 200);
    await says(watcher, `${many} of ${given.clients} requests in flight`);
    await until(title, (n) => document.querySelector(".tiles a[href='/calls'] strong").textContent === n, String(given.clients));
    for (let i = 1; i <= 3; i++) { // rows arrive while both people type
      await asks(i);
      await until(denier, (n) => document.title.startsWith(`(${n}) `), before + i + 3); // three tools wait too
      await denier.keyboard.type("xyz"[i - 1]);
      await caller.bringToFront();
      await caller.keyboard.type("abc"[i - 1]);
      await denier.bringToFront();
    }
    must(await denier.$$eval("#approvals-waiting .card", (all) => all.length) === before, "the region did not wait");
    await says(denier, `${before + 3} calls wait for approval.`);
    await callTool("work__release"); // and go
    for (const answer of await Promise.all(calls)) must(answer.includes("done"), answer);
    await says(watcher, "No request is in flight.");
    await denier.keyboard.type(" the others run");
    await denier.keyboard.press("Tab"); // to the button: the list catches up
    await until(denier, (n) => document.querySelectorAll("#approvals-waiting .card").length === n, before + 3);
    must(await denier.$eval(reason, (e) => e.value) === "not while xyz the others run", "the reason is lost");
    must(await denier.evaluate(() => document.activeElement.id) === `deny-${first}`, "the focus is lost");
    await denier.keyboard.press("Enter");
    await says(denier, "not while xyz the others run");
    must(await caller.$eval(field, (e) => e.value) === "/srv/abc", "the argument is lost");
  },

  // A notification for each call that waits, only after the button was pressed, and only in the background.
  async notifications() {
    const context = await browser.createBrowserContext(), told = await open(context);
    const cookies = await browser.cookies();
    await context.setCookie(...cookies);
    await told.evaluateOnNewDocument(counting, false);
    const count = () => told.evaluate(() => shown.length);
    const ask = (n) => callTool("everything__get-sum", { a: 2000, b: n });
    const counted = async () => { // the page has followed
      const { waiting } = await data("/approvals");
      await until(told, (n) => document.querySelector("#sections [data-waits]").dataset.waits.split(" ").length === n, waiting.length + 3);
    };
    await context.overridePermissions(site.origin, ["notifications"]);
    await go(told, "/calls");
    await live(told);
    const state = await told.evaluate(async () => (await navigator.permissions.query({ name: "notifications" })).state);
    must(state === "granted", `the permission is ${state}`);
    await ask(0);
    await counted();
    await show(told, false);
    must(await count() === 0, "a notification without the button");
    await show(told, true);
    await live(told);
    must(await text(told, "#notify") === "Notify me when something waits", "there is no button");
    await click(told, "#notify");
    await until(told, () => watches);
    await ask(1); // while the person looks
    await counted();
    must(await count() === 0, "a notification while the person looks");
    await show(told, false);
    await ask(2);
    await counted();
    await until(told, () => shown.length === 1);
    must((await told.evaluate(() => shown[0])).endsWith("wait for you"), "it does not say what waits");
    await ask(2); // the same call again, and another event
    await callTool("everything__echo", { message: "x" });
    await ask(3);
    await counted();
    await until(told, () => shown.length === 2);
    const other = await open(context); // another tab in the background takes over
    await other.evaluateOnNewDocument(counting, true);
    await go(other, "/calls");
    await told.close();
    await until(other, () => watches);
    await live(other);
    await callTool("everything__echo", { message: "y" });
    await until(other, () => !fetching && stale.size === 0);
    must(await other.evaluate(() => shown.length) === 0, "a second notification for the same calls");
  },

  // DNS rebinding: a name of the attacker that leads here.
  async rebinding() {
    const attacked = await open();
    attacked.mayLeave = true;
    const answer = await attacked.goto(`http://evil.example:${site.port}/servers`);
    must(answer.status() === 403, `status ${answer.status()}`);
    must(!(await text(attacked)).includes("everything"), "the servers are shown");
  },

  // Pages of other sites, and of another port of this machine, with the visitor's cookie.
  async otherSites() {
    const attack = `<!doctype html><iframe id=frame src="${site.origin}/servers"></iframe>
      <form id=form method=post action="${site.origin}/servers/restart" target=sink><input name=server value=everything></form>
      <iframe name=sink></iframe>`;
    const web = createServer((_, response) => response.writeHead(200, { "Content-Type": "text/html" }).end(attack));
    await new Promise((listening) => web.listen(0, "127.0.0.1", listening));
    const before = await restarts();
    for (const host of ["127.0.0.1", "localhost", "other.example"]) {
      const evil = await open();
      evil.mayLeave = true;
      evil.removeAllListeners("console"); // the browser reports what it refuses
      await evil.goto(`http://${host}:${web.address().port}/`);
      await evil.evaluate(async (origin) => {
        document.getElementById("form").submit();
        const body = new URLSearchParams({ server: "everything" });
        const how = { method: "POST", mode: "no-cors", credentials: "include", body };
        await fetch(`${origin}/servers/restart`, how).catch(() => {});
        await fetch(`${origin}/servers/restart`, { ...how, headers: { "Content-Type": "text/plain" } }).catch(() => {});
        await fetch(`${origin}/servers`, { credentials: "include" }).then((r) => r.text()).then((t) => { window.read = t; }, () => {});
        await new Promise((done) => { const s = document.createElement("script"); s.src = `${origin}/servers`; s.onload = s.onerror = done; document.body.append(s); });
      }, site.origin);
      must(!(await evil.evaluate(() => window.read)), `${host}: it reads the page`);
      for (const frame of evil.frames()) {
        const inside = await frame.evaluate(() => document.body?.innerText ?? "").catch(() => "");
        must(!inside.includes("everything"), `${host}: the page is in a frame`);
      }
      await evil.close();
    }
    web.close();
    must(await restarts() === before, "another site has restarted a server");
  },

  async signOut() {
    await go(page, "/servers");
    await page.click("header form button");
    await says(page, "you are signed out");
    for (const path of ["/servers", given.link]) {
      must((await go(page, path)).status() === 403, `${path}: still there`);
    }
  },
};

// tidy closes all that a check has opened, also if it has failed.
async function tidy() {
  for (const context of browser.browserContexts()) if (context !== browser.defaultBrowserContext()) await context.close();
  for (const tab of await browser.pages()) if (tab !== page) await tab.close();
  await page.setViewport({ width: 1280, height: 800 });
}

// restarts returns how often the server everything was started.
async function restarts() {
  const all = await page.evaluate(async () => (await fetch("/servers", { headers: { Accept: "application/json" } })).json());
  return all.servers.find((s) => s.id === "everything").connectMs;
}

// clean checks that no text of others became markup.
async function clean(at) {
  const found = await page.evaluate(() => [String(window.hacked), document.querySelectorAll(
    "script:not([src]), img[src=x], [onerror], [onload], [onclick], a[href^='javascript:'], [style]").length]);
  must(found[0] === "undefined" && found[1] === 0, `${at}: markup of others: ${found}`);
}

let failed = false;
try {
  if (given.shots) {
    for (const [tool, args] of [
      ["everything__echo", { message: "hello" }], ["fs__list_directory", { path: "/none" }],
      ["everything__get-tiny-image", {}], ["everything__get-sum", { a: 2, b: 40 }],
    ]) await callTool(tool, args);
    for (const [path, width, scheme] of [...paths.map((p) => [p, 1280, "light"]), ["/servers", 360, "dark"], ["/calls", 1280, "dark"]]) {
      await page.setViewport({ width, height: 800 });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await go(page, path);
      await new Promise((done) => setTimeout(done, 500));
      const name = (path.slice(1) || "overview") + (scheme === "dark" ? "-dark" : "") + (width < 1000 ? "-narrow" : "");
      await page.screenshot({ path: `${given.shots}/${name}.png` });
    }
  } else {
    const wanted = process.argv.slice(3);
    for (const [name, check] of Object.entries(checks)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      const began = Date.now();
      try {
        await check();
        if (problems.length > 0) throw new Error(problems.splice(0).join("; "));
        console.log(`ok ${name} ${Date.now() - began} ms`);
      } catch (e) {
        failed = true;
        console.log(`FAIL ${name}: ${e.message} ${problems.splice(0).join("; ")}`);
      }
      await tidy();
    }
  }
} finally {
  await browser.close();
}
process.exit(failed ? 1 : 0);
