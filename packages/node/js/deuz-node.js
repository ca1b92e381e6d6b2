// The vocabulary of `@deuz-sdk/core/skills` with its source over folders.

import path from 'node:path';

import { InvalidRequestError, normalizeResourcePath, parseSkill } from './deuz.js';
import { parsePath } from './api.js';
import { readInFolder, readSkillFile, scanFolders } from './folders.js';
import { warn } from './unlisted.js';
import { needList, needPath, needString, toText } from './values.js';

export * from './deuz.js';

/** A source over folders: each folder directly below one of them that has a SKILL.md is a skill. The first id counts. */
export function nodeSkillSource(dirs) {
  const roots = needList(dirs, 'the folders').map((dir) => path.resolve(needPath(dir, 'a folder')));
  /** The first folder that has this skill, and its SKILL.md. */
  const located = async (id) => {
    const { path: name, message } = parsePath(needString(id, 'the id'), { reading: 'name' });
    if (name === undefined) throw new InvalidRequestError(message);
    for (const root of roots) {
      const folder = path.join(root, name);
      try {
        return { folder, own: await readSkillFile(path.join(folder, 'SKILL.md')) };
      } catch (error) {
        if (error.code !== 'missing') throw error;
      }
    }
    throw new InvalidRequestError(`there is no skill ${id} in ${roots.join(', ')}`);
  };
  const said = new Set();
  return {
    async list() {
      const ids = new Map();
      const options = { fileName: 'SKILL.md', minDepth: 1, maxDepth: 1, skipPrefixes: [], hidden: true };
      const scanned = await scanFolders(roots, options);
      for (const { path: unread, message } of scanned.flatMap(({ problems }) => problems)) {
        const text = `a skill is left out: ${unread}: ${message}`;
        if (!said.has(text)) warn(text);
        said.add(text);
      }
      for (const { path: file, bytes } of scanned.flatMap(({ files }) => files)) {
        const id = path.basename(path.dirname(file));
        if (ids.has(id)) continue;
        const { name, description } = parseSkill(toText(bytes), { validate: false }).manifest;
        ids.set(id, { id, name: name || id, description, path: file });
      }
      return [...ids.values()];
    },
    read: async (id) => toText((await located(id)).own),
    async readResource(id, rel) {
      const resource = normalizeResourcePath(rel);
      const { folder } = await located(id);
      try {
        return await readInFolder(folder, resource);
      } catch (cause) {
        throw new InvalidRequestError(`the file ${rel} of ${id} cannot be read: ${cause.message}`, { cause });
      }
    },
  };
}
