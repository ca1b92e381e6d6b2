// Runs the `js` blocks of a page that import a package: `node pages.mjs PAGE PACKAGE FOLDER`, in a folder that has it.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const [page, name, folder] = process.argv.slice(2);
const blocks = [...readFileSync(page, 'utf8').matchAll(/^```js\n(.*?)^```$/gms)].map(([, text]) => text);
const own = blocks.filter((text) => text.includes(`from '${name}'`) || text.includes(`from '${name}/`));
if (own.length === 0) throw new Error(`no block of ${page} imports ${name}`);
own.forEach((text, at) => {
  const file = path.join(folder, `block-${at + 1}.mjs`);
  writeFileSync(file, text);
  execFileSync(process.execPath, [file], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], timeout: 60_000 });
});
console.log(`${own.length} blocks of ${path.basename(page)} run`);
