// Unpacks the headless Chromium of the package @sparticuz/chromium beside its archive, with the libraries and the fonts
// that a bare Linux lacks, and prints nothing. launch starts it.
import { chmod, mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { createReadStream, createWriteStream } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
import puppeteer from "puppeteer-core";
import tar from "tar-fs";

const bin = join(dirname(fileURLToPath(import.meta.url)), "node_modules/@sparticuz/chromium/bin");

// unpacked returns the directory of the program. Tests of several processes may unpack at the same time.
async function unpacked() {
  const dir = join(bin, "unpacked");
  if (await stat(dir).catch(() => null)) return dir;
  const fresh = `${dir}-${process.pid}`;
  await mkdir(fresh);
  const open = (name) => [createReadStream(join(bin, name)), createBrotliDecompress()];
  await pipeline(...open("chromium.br"), createWriteStream(join(fresh, "chromium")));
  await chmod(join(fresh, "chromium"), 0o755);
  for (const name of ["al2023.tar.br", "fonts.tar.br"]) await pipeline(...open(name), tar.extract(fresh));
  await writeFile(join(fresh, "fonts.conf"), `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
    <fontconfig><dir prefix="relative">fonts</dir><cachedir prefix="xdg">cache</cachedir></fontconfig>`);
  await rename(fresh, dir).catch(() => rm(fresh, { recursive: true }));
  return dir;
}

// launch starts a browser with an empty profile. hosts are names that lead to this machine.
export async function launch(hosts = []) {
  const dir = await unpacked();
  return puppeteer.launch({
    executablePath: join(dir, "chromium"),
    headless: "shell",
    pipe: true, // it ends with us, even after a kill
    env: {
      HOME: tmpdir(), LD_LIBRARY_PATH: join(dir, "lib"), FONTCONFIG_FILE: join(dir, "fonts.conf"), XDG_CACHE_HOME: dir,
    },
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--no-proxy-server",
      `--host-resolver-rules=${hosts.map((name) => `MAP ${name} 127.0.0.1`).join(",")}`,
    ],
  });
}
