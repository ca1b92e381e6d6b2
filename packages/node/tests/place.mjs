// Folders for tests: files are written into a new one, which is removed when the process ends.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const made = [];
process.on('exit', () => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

/** A new empty folder. */
export function newFolder() {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'prowess-node-')));
  made.push(folder);
  return folder;
}

/** Writes files below a folder. */
export function write(folder, files) {
  for (const [name, contents] of Object.entries(files)) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, contents);
  }
  return folder;
}

/** A SKILL.md. */
export const skill = (name, description = `About ${name}.`, body = `Body of ${name}.`) =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`;

/** The files of a vector of sessions in a real folder. */
export function place(files) {
  const root = newFolder();
  const skills = path.join(root, 'skills');
  write(root, { 'outside/secret.txt': 'secret\n' });
  write(skills, files);
  return {
    root,
    source: (preload) => ({ source: skills, preload }),
    apply({ remove = [], write: written = {}, link = {} }) {
      for (const gone of remove) rmSync(path.join(skills, gone), { recursive: true, force: true });
      write(skills, written);
      for (const [name, target] of Object.entries(link)) {
        const file = path.join(skills, name);
        mkdirSync(path.dirname(file), { recursive: true });
        symlinkSync(target, file);
      }
    },
  };
}
