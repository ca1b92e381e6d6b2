// Writes dist/: the interface as CommonJS, its types, and the addon and the program in a folder of cargo:
// `node build.mjs FOLDER PROGRAM`.
//
// The interface is that of packages/web over another binding. CommonJS is loaded by `require` and by `import`, so a
// program that uses both has one copy of each class.

import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

import { system } from './js/system.js';

const here = path.dirname(fileURLToPath(import.meta.url));
const dist = path.join(here, 'dist');
const own = path.join(here, 'js');
const shared = path.join(here, '../web/js');
/** What only WebAssembly needs. */
const WEB_ONLY = ['binding.js', 'context.js', 'index.d.ts', 'index.js', 'shelf.js'];
const ADDONS = ['libprowess_node.so', 'libprowess_node.dylib', 'prowess_node.dll'];

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
const files = [
  ...readdirSync(shared).filter((name) => !WEB_ONLY.includes(name)).map((name) => path.join(shared, name)),
  ...readdirSync(own).filter((name) => name !== 'package.json').map((name) => path.join(own, name)),
];
const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022, esModuleInterop: true };
for (const file of files) {
  const text = readFileSync(file, 'utf8');
  const written = file.endsWith('.d.ts') ? text : ts.transpileModule(text, { compilerOptions }).outputText;
  writeFileSync(path.join(dist, path.basename(file)), written);
}
const [folder, program] = process.argv.slice(2);
const addon = ADDONS.map((name) => path.join(folder, name)).find(existsSync);
if (addon === undefined) throw new Error(`there is no ${ADDONS.join(', ')} in ${folder}; run cargo build first`);
copyFileSync(addon, path.join(dist, `prowess.${system()}.node`));
copyFileSync(program, path.join(dist, program.endsWith('.exe') ? 'prowess.exe' : 'prowess'));
