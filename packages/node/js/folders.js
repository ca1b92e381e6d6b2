// Skills in folders, without a library: found, listed and read off the main thread, and no link leads out of a skill.

import { fileURLToPath } from 'node:url';

import { engine, settled, work } from './binding.js';
import { needOptions, needString, toJson } from './values.js';

/** A path that may be a `file:` URL. */
const toPath = (given) => needString(given instanceof URL ? fileURLToPath(given) : given, 'the path');

/** How many files are read at the same time. */
const PARALLEL = 16;

/** The SKILL.md files in and below folders, each with its contents. */
export async function scanFolders(roots, options) {
  const found = await Promise.all(roots.map((root) => work('scan', { root, ...options })));
  const files = found.flat();
  const contents = new Array(files.length);
  let next = 0;
  const turn = async () => {
    while (next < files.length) {
      const at = next++;
      contents[at] = { path: files[at], bytes: await readSkillFile(files[at]) };
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, files.length) }, turn));
  return contents;
}

/** The contents of a SKILL.md. */
export async function readSkillFile(file) {
  return (await settled(engine().readFile(toJson({ file })))).bytes;
}

/** The files of the folder of a skill. */
export async function listFolder(folder) {
  return work('filesOfPath', folder);
}

/** The contents of a file of a skill. */
export async function readInFolder(folder, path, limit) {
  return (await settled(engine().readFile(toJson({ folder, path, limit })))).bytes;
}

/** Loads a skill from its folder or its SKILL.md, or rejects with a `LoadError` that has every problem. */
export async function loadFolder(folder, options) {
  return work('loadPath', { path: toPath(folder), judge: needOptions(options) });
}

/** The problems of a skill in its folder, with those of its files, as `prowess check` finds them. */
export async function checkFolder(folder, options) {
  return work('checkPath', { path: toPath(folder), judge: needOptions(options) });
}
