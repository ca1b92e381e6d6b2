// Skills in folders, without a library: found, listed and read off the main thread, and no link leads out of a skill.

import { fileURLToPath } from 'node:url';

import { engine, settled, work } from './binding.js';
import { inTurns } from './sources.js';
import { needOptions, needPath, toJson } from './values.js';

/** A path that may be a `file:` URL. */
const toPath = (given) => needPath(given instanceof URL ? fileURLToPath(given) : given, 'the path');

/**
 * The SKILL.md files in and below each folder, with their contents, a folder before those below it; and `problems`, each
 * with a path and a message. What cannot be read hides nothing else.
 */
export async function scanFolders(roots, options) {
  return inTurns(roots, async (root) => {
    const { files, problems } = await work('scan', { root, ...options });
    const read = await inTurns(files, async (path) => {
      try {
        return { path, bytes: await readSkillFile(path) };
      } catch (error) {
        problems.push({ path, message: error.message });
        return undefined;
      }
    });
    return { files: read.filter((file) => file !== undefined), problems };
  });
}

/** The contents of a SKILL.md. */
export async function readSkillFile(file) {
  return (await settled(engine().readFile(toJson({ file })))).bytes;
}

/** The files in and below a folder; none if it is no longer there. */
export async function listFolder(folder) {
  try {
    return await work('filesOfFolder', folder);
  } catch (error) {
    if (error.code === 'missing' || error.code === 'not-a-file') return [];
    throw error;
  }
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
