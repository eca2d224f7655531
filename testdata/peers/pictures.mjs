// Takes pictures of the page of indus at two widths and in both schemes of colors.
//
//	node pictures.mjs '{"link": …, "site": …, "dir": …, "paths": {NAME: PATH}, "known": {TEXT: REPLACEMENT}, "broken": {NAME: [PATH, SCRIPT]}}'
//
// Prints a line for each picture, "picture NAME", and a line for each flaw, "FAIL NAME: REASON". Of "broken", a script in
// the page breaks its layout before the picture.
import { join } from "node:path";
import axe from "axe-core";
import { launch } from "./chromium.mjs";
import { flaws, steady } from "./look.mjs";

const given = JSON.parse(process.argv[2]);
const browser = await launch();
const page = await browser.newPage();
await page.goto(given.link, { waitUntil: "load" });
await page.waitForFunction(() => location.pathname === "/");
await page.setJavaScriptEnabled(false); // the page stays as it is

const scheme = (value) => page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);

async function open(path, width) {
  await scheme("light");
  await page.setViewport({ width, height: 800 });
  const answer = await page.goto(new URL(path, given.site).href, { waitUntil: "load" });
  if (answer.status() !== 200) throw new Error(`${path}: status ${answer.status()}`);
  await page.evaluate(steady, given.known);
}

// picture writes the upper part of the page.
async function picture(name, width) {
  const height = Math.min(await page.evaluate(() => document.documentElement.scrollHeight), 3 * 800);
  const clip = { x: 0, y: 0, width, height };
  await page.screenshot({ path: join(given.dir, `${name}.png`), clip, captureBeyondViewport: true, optimizeForSpeed: true });
  console.log(`picture ${name}`);
}

async function accessible(name) {
  const found = await page.evaluate(async () => (await axe.run()).violations.map((v) =>
    `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | ")}`));
  for (const one of found) console.log(`FAIL ${name}: ${one}`);
}

try {
  for (const [name, path] of Object.entries(given.paths)) {
    for (const width of [1280, 390]) {
      const at = `${name}-${width}`;
      await open(path, width);
      for (const flaw of await page.evaluate(flaws)) console.log(`FAIL ${at}: ${flaw}`);
      await picture(`${at}-light`, width);
      await scheme("dark");
      await picture(`${at}-dark`, width);
      await page.evaluate(axe.source);
      await accessible(`${at}-dark`);
      if (width === 1280) { // the rest differs by color or by width alone
        await scheme("light");
        await accessible(`${at}-light`);
      }
    }
  }
  for (const [name, [path, script]] of Object.entries(given.broken ?? {})) {
    await open(path, 1280);
    await page.evaluate(script);
    const found = await page.evaluate(flaws);
    await picture(name, 1280);
    console.log(`broken ${name} ${found.length}`);
  }
} finally {
  await browser.close();
}
