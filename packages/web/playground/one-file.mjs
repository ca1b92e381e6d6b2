// Writes the playground as one file, which a browser opens without a server: `one-file.mjs OUTPUT`.
//
// A page from `file:` may load no other file, but addresses with `data:`: each module is one, and an import map names them.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (name) => new URL(name, import.meta.url);
const read = (name) => readFileSync(here(name), 'utf8');
const IMPORT = /((?:from|import)\s*\(?\s*)'(\.{1,2}\/[^']+)'/g;

/** The modules that one imports, and those that they import, by their names in the map. */
const modules = new Map();
const nameOf = (address) => `prowess/${address.pathname.split('/').pop()}`;
function add(address) {
  const name = nameOf(address);
  if (modules.has(name)) return name;
  modules.set(name, undefined);
  const text = readFileSync(address, 'utf8').replace(IMPORT, (_, before, path) => `${before}'${add(new URL(path, address))}'`);
  modules.set(name, `data:text/javascript;base64,${Buffer.from(text).toString('base64')}`);
  return name;
}

const start = `import '${add(here('playground.js'))}';`;
const map = JSON.stringify({ imports: Object.fromEntries(modules) });
const style = read('playground.css');
const engine = readFileSync(here('../dist/engine_bg.wasm')).toString('base64');

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const policy = [
  "default-src 'none'", `script-src data: ${hash(map)} ${hash(start)} 'wasm-unsafe-eval'`, `style-src ${hash(style)}`,
  'img-src data:', "base-uri 'none'", "form-action 'none'",
].join('; ');

/** Replaces what the page must have. */
function replaced(page, [old, made]) {
  if (!old.test(page)) throw new Error(`the page has no ${old}`);
  return page.replace(old, () => made);
}
const page = [
  [/(?<=Content-Security-Policy" content=")[^"]*/, policy],
  [/<link rel="stylesheet"[^>]*>/, `<style>${style}</style>`],
  [
    /<script type="module"[^>]*><\/script>/,
    `<script type="importmap">${map}</script>\n    <script type="text/plain" id="engine">${engine}</script>\n    <script type="module">${start}</script>`,
  ],
].reduce(replaced, read('index.html'));
writeFileSync(process.argv[2] ?? fileURLToPath(here('../dist/playground.html')), page);
