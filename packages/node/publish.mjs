// Writes the packages of a release: `node publish.mjs DIST... OUT`.
//
// Each DIST is the dist/ of a build on one system. OUT gets a folder `prowess` with the interface, and a folder for each
// system with its addon and its program. The interface depends on all of them as optional packages, and npm installs the one that fits.

import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const [out, ...builds] = process.argv.slice(2).reverse();
if (out === undefined || builds.length === 0) throw new Error('usage: node publish.mjs DIST... OUT');

const { devDependencies: _, ...own } = JSON.parse(readFileSync(path.join(here, 'package.json'), 'utf8'));
const isAddon = (name) => name.endsWith('.node');
const isProgram = (name) => ['prowess', 'prowess.exe'].includes(path.basename(name));
const write = (folder, manifest) =>
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
const optional = {};
for (const build of builds) {
  for (const addon of readdirSync(build).filter(isAddon)) {
    const system = addon.replace(/^prowess\.|\.node$/g, '');
    const [os, cpu, libc] = system.split('-');
    const name = `prowess-${system}`;
    const folder = path.join(out, name);
    mkdirSync(folder, { recursive: true });
    const files = [addon, ...readdirSync(build).filter(isProgram)];
    for (const file of files) copyFileSync(path.join(build, file), path.join(folder, file));
    write(folder, {
      name, version: own.version, description: `The addon and the program of prowess for ${system}.`, license: own.license, main: addon, files,
      engines: own.engines, os: [os], cpu: [cpu], ...(os === 'linux' ? { libc: [libc === 'gnu' ? 'glibc' : libc] } : {}),
    });
    optional[name] = own.version;
  }
}
const folder = path.join(out, own.name);
mkdirSync(folder, { recursive: true });
cpSync(builds[0], path.join(folder, 'dist'), { recursive: true, filter: (file) => !isAddon(file) && !isProgram(file) });
copyFileSync(path.join(here, 'README.md'), path.join(folder, 'README.md'));
const sorted = Object.fromEntries(Object.entries(optional).sort());
write(folder, { ...own, optionalDependencies: sorted });
console.log(`the packages for: ${Object.keys(sorted).join(', ')}`);
