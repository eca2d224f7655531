#!/usr/bin/env node
"use strict";
// Starts the indus of the package for this system, which npm installed as an optional dependency.
const { spawn } = require("node:child_process");

const name = `indus-mcp-${process.platform}-${process.arch}`;
let file;
try {
  file = require.resolve(`${name}/bin/indus${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`indus: the package ${name} is missing: install indus-mcp without --omit=optional, or see
https://github.com/indusagi/indus/blob/main/docs/install.md for other packages`);
  process.exit(1);
}
const child = spawn(file, process.argv.slice(2), { stdio: "inherit" });
const signals = ["SIGHUP", "SIGINT", "SIGTERM"];
for (const signal of signals) process.on(signal, () => child.kill(signal));
child.on("error", (err) => {
  console.error(`indus: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  for (const s of signals) process.removeAllListeners(s);
  process.kill(process.pid, signal);
});
