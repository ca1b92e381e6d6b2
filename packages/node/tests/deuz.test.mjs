// The source over folders of the vocabulary of deuz; the other names are tested with those of every package.

import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { Skills } from 'prowess';
import * as deuz from 'prowess/deuz';

import { newFolder, skill, write } from './place.mjs';

test('the package has every name', () => {
  assert.deepEqual(Object.keys(deuz).filter((name) => !['default', 'module.exports', '__esModule'].includes(name)).sort(), [
    'InvalidRequestError', 'asSource', 'createSkillRegistry', 'embeddingMatcher', 'fetchSkillSource', 'lexicalMatcher',
    'mergeSkillSources', 'nodeSkillSource', 'normalizeResourcePath', 'parseSkill', 'renderSkillCatalog', 'scopeToolsToSkill',
    'splitFrontmatter', 'staticSkillSource', 'validateSkillDescription', 'validateSkillName',
  ]);
});

const tree = () =>
  write(newFolder(), {
    'pdf/SKILL.md': skill('pdf', 'Fills in forms.'), 'pdf/references/form.md': 'A form.\n', 'plain/SKILL.md': 'no frontmatter',
    'team/deep/SKILL.md': skill('deep'), 'SKILL.md': skill('root'), '.hidden/SKILL.md': skill('hidden'), 'notes.md': 'x',
  });

test('nodeSkillSource lists folders with a SKILL.md, and the first folder counts', async () => {
  const folder = tree();
  const second = write(newFolder(), { 'pdf/SKILL.md': skill('pdf', 'The second.'), 'mail/SKILL.md': skill('mail') });
  const source = deuz.nodeSkillSource([folder, second, path.join(folder, 'none')]);
  assert.deepEqual(await source.list(), [
    { id: '.hidden', name: 'hidden', description: 'About hidden.', path: path.join(folder, '.hidden/SKILL.md') },
    { id: 'pdf', name: 'pdf', description: 'Fills in forms.', path: path.join(folder, 'pdf/SKILL.md') },
    { id: 'plain', name: 'plain', description: '', path: path.join(folder, 'plain/SKILL.md') },
    { id: 'mail', name: 'mail', description: 'About mail.', path: path.join(second, 'mail/SKILL.md') },
  ]);
  assert.equal(await source.read('pdf'), skill('pdf', 'Fills in forms.'));
  assert.equal(await source.read('mail'), skill('mail'));
  assert.deepEqual(await source.readResource('pdf', './references\\form.md'), new TextEncoder().encode('A form.\n'));
  assert.deepEqual(await deuz.nodeSkillSource([]).list(), []);
});

test('a SKILL.md that cannot be read hides no other', async () => {
  const outside = write(newFolder(), { 'secret.md': skill('out') });
  const folder = write(newFolder(), { 'good/SKILL.md': skill('good'), 'large/SKILL.md': skill('large') + 'x'.repeat(2 << 20), 'out/x.md': 'x' });
  symlinkSync(path.join(outside, 'secret.md'), path.join(folder, 'out/SKILL.md'));
  const source = deuz.nodeSkillSource([folder, path.join(folder, 'good/SKILL.md')]);
  assert.deepEqual((await source.list()).map(({ id }) => id), ['good']);
  await assert.rejects(source.read('large'), { code: 'too-large' });
  for (const dirs of ['skills', 5, [5]]) assert.throws(() => deuz.nodeSkillSource(dirs), { code: 'invalid' });
});

test('no id, path or link leads out of a folder', async () => {
  const outer = newFolder();
  const folder = write(path.join(outer, 'skills'), { 'pdf/SKILL.md': skill('pdf') });
  write(outer, { 'x/SKILL.md': skill('x'), 'secret': 's' });
  symlinkSync('../../secret', path.join(folder, 'pdf/out'));
  const source = deuz.nodeSkillSource([folder]);
  const registry = deuz.createSkillRegistry({ source });
  for (const work of [
    () => source.read('../x'), () => source.read('..'), () => source.read('none'), () => source.read('a/b'), () => source.read('x\0'),
    () => source.readResource('pdf', '../../secret'), () => source.readResource('pdf', 'out'), () => source.readResource('pdf', 'none'),
    () => registry.resource('../x', 'SKILL.md'), () => registry.trigger('../x'),
  ]) {
    await assert.rejects(work, (error) => error instanceof deuz.InvalidRequestError && error.status === 400, String(work));
  }
});

test('a skill whose folder is a link is found', async () => {
  const store = write(newFolder(), { 'pdf/SKILL.md': skill('pdf'), 'pdf/a.md': 'A' });
  const folder = newFolder();
  mkdirSync(path.join(folder, 'empty'));
  symlinkSync(path.join(store, 'pdf'), path.join(folder, 'pdf'));
  const source = deuz.nodeSkillSource([folder]);
  assert.deepEqual((await source.list()).map(({ id }) => id), ['pdf']);
  assert.deepEqual(await source.readResource('pdf', 'a.md'), new TextEncoder().encode('A'));
});

test('a source over folders serves a registry and a session, and sees changes', async () => {
  const folder = write(newFolder(), { 'pdf/SKILL.md': skill('pdf', 'Fills in forms.', 'Read a.md.'), 'pdf/a.md': 'A' });
  const source = deuz.nodeSkillSource([folder]);
  const registry = deuz.createSkillRegistry({ source });
  assert.deepEqual(await registry.match('forms'), [{ id: 'pdf', score: 1 }]);
  assert.equal((await registry.trigger('pdf')).body, 'Read a.md.');
  const chat = (await Skills.open(deuz.asSource(source), { options: { naming: 'deuz' } })).chat();
  assert.match((await chat.call('load_skill', { id: 'pdf' })).text, /Read a\.md/);
  writeFileSync(path.join(folder, 'pdf/a.md'), 'B');
  assert.match((await chat.call('read_skill_resource', { id: 'pdf', path: 'a.md' })).text, /B/);
});
