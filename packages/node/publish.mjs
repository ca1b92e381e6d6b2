// Writes the packages of a release: `node publish.mjs DIST... OUT`. PROWESS_REPOSITORY is the address of the repository,
// which npm compares with the workflow that publishes; `--name-repository FOLDER` adds it to a package that is there.
//
// Each DIST is the dist/ of a build on one system. OUT gets a folder `prowess` with the interface, and a folder for each
// system with its addon and its program. The interface depends on all of them as optional packages, and npm installs the one that fits.

import { chmodSync, copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const builds = process.argv.slice(2);
const out = builds.pop();
if (out === undefined || builds.length === 0) throw new Error('usage: node publish.mjs DIST... OUT');

const repository = process.env.PROWESS_REPOSITORY;
const { devDependencies: _, ...own } = JSON.parse(readFileSync(path.join(here, 'package.json'), 'utf8'));
const from = repository ? { repository: { type: 'git', url: `git+${repository}.git` } } : {};
const isAddon = (name) => name.endsWith('.node');
const isProgram = (name) => ['prowess', 'prowess.exe'].includes(path.basename(name));
const write = (folder, manifest) =>
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify({ ...manifest, ...from }, null, 2)}\n`);
if (builds[0] === '--name-repository') {
  write(out, JSON.parse(readFileSync(path.join(out, 'package.json'), 'utf8')));
  process.exit();
}
const optional = {};
for (const build of builds) {
  for (const addon of readdirSync(build).filter(isAddon)) {
    const system = addon.replace(/^prowess\.|\.node$/g, '');
    const [os, cpu, libc] = system.split('-');
    const name = `prowess-${system}`;
    const folder = path.join(out, name);
    mkdirSync(folder, { recursive: true });
    const files = [addon, ...readdirSync(build).filter(isProgram)];
    for (const file of files) {
      copyFileSync(path.join(build, file), path.join(folder, file));
      // A build that was stored as an artifact has lost its executable bits.
      chmodSync(path.join(folder, file), isProgram(file) ? 0o755 : 0o644);
    }
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
