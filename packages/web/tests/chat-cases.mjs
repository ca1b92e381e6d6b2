// What chats do in every JavaScript package: approvals, preloaded skills, tools, and what ends while it is under way.

import assert from 'node:assert/strict';
import { test } from 'node:test';

/** Defines the tests over a package. */
export function defineChatTests(prowess) {
  const { Skills } = prowess;

  const skill = (name, description = `About ${name}.`, more = '') =>
    `---\nname: ${name}\ndescription: ${description}\n${more}---\nBody of ${name}.\n`;
  const ASKING = { scopes: { explicit: { approve: true } } };
  /** Opens a source whose skills need an approval, which is given, and loads the skill `a`. */
  const approved = async (source, options) => {
    const asked = [];
    const approve = (one, digest) => asked.push(digest) > 0;
    const chat = (await Skills.open(source, { policy: ASKING, approve, onError: () => {}, ...options })).chat();
    return { asked, chat, loaded: await chat.call('load_skill', { name: 'a' }) };
  };
  const reading = (chat, path) => chat.call('read_skill_resource', { name: 'a', path });

  test('an approval covers only the files that a source lists', async () => {
    let reads = 0;
    const read = (_, path) => (path === 'SKILL.md' ? skill('a') : `evil ${(reads += 1)}`);
    // Without `files`, a skill has only its SKILL.md.
    const { chat, loaded } = await approved({ list: () => ['a'], read });
    assert.equal(loaded.ok, true);
    const refused = await reading(chat, 'x.md');
    assert.deepEqual([refused.ok, refused.reason, reads], [false, 'missing-file', 0]);
    const listing = await approved({ list: () => ['a'], read, files: () => ['SKILL.md', 'x.md'] });
    assert.equal((await reading(listing.chat, 'y.md')).reason, 'missing-file');
  });

  test('an approval covers a SKILL.md that the list of files lacks', async () => {
    const files = { 'SKILL.md': skill('a'), 'x.md': 'x' };
    const { chat, loaded } = await approved({ list: () => ['a'], read: (_, path) => files[path], files: () => ['x.md'] });
    assert.equal(loaded.ok, true);
    files['SKILL.md'] = skill('a', 'About a.', 'license: other\n');
    assert.equal((await chat.call('load_skill', { name: 'a' })).reason, 'changed');
  });

  test('a skill that no digest can cover is not approved', async () => {
    const read = (_, path) => (path === 'SKILL.md' ? skill('a') : new Uint8Array(33 << 20));
    const lists = {
      'left out': () => ['SKILL.md', { path: 'node_modules', leftOut: 'a folder of packages' }],
      'leads out': () => ['SKILL.md', '../x'],
      'too large by its list': () => ['SKILL.md', { path: 'x', size: 2 ** 40 }],
      'too large': () => ['SKILL.md', 'x', 'y'],
      'too many': () => Array.from({ length: 10_001 }, (_, at) => `f${at}`),
      'no files': () => [null],
    };
    for (const [why, files] of Object.entries(lists)) {
      const errors = [];
      const { asked, loaded } = await approved({ list: () => ['a'], read, files }, { onError: (error) => errors.push(error) });
      assert.deepEqual([loaded.reason, asked, errors.length], ['not-approved', [], 1], why);
    }
  });
}
