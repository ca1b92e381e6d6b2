// Every name of the vocabulary of drover, with its arguments and defaults.

import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import * as drover from 'prowess/drover';

import { newFolder, skill, write } from './place.mjs';

const TEXT = [
  '---', 'name: pdf', 'description: "  Fills in forms.  "', 'license: MIT', 'compatibility: Needs python3', 'metadata:',
  '  version: 1.0', 'allowed-tools:', '  - Read', '  - Bash(git:*)', 'model: fast', '---', '', 'Read the form.', '',
].join('\n');

test('the package has every name', () => {
  assert.deepEqual(Object.keys(drover).filter((name) => !['default', 'module.exports', '__esModule'].includes(name)).sort(), [
    'SkillLoadError', 'createSkillRegistry', 'listSkillResources', 'parseAllowedTools', 'parseSkill', 'parseSkillFile',
    'readSkillResource', 'renderSkillsBlock', 'scanSkillDirs', 'skillLoadTool', 'skillResourceTool',
  ]);
});

test('parseSkill is strict by default, and lenient if asked', () => {
  const { spec, warnings } = drover.parseSkill(TEXT, '/skills/pdf/SKILL.md');
  assert.deepEqual(warnings, []);
  assert.deepEqual(spec, {
    name: 'pdf', description: 'Fills in forms.', license: 'MIT', compatibility: 'Needs python3', metadata: { version: '1.0' },
    allowedTools: 'Read Bash(git:*)', body: 'Read the form.', path: '/skills/pdf/SKILL.md', dir: '/skills/pdf',
    extra: { model: 'fast' },
  });
  const strict = (text, file, opts) => {
    try {
      return drover.parseSkill(text, file, opts) && [];
    } catch (error) {
      assert.ok(error instanceof drover.SkillLoadError && error.code === 'load');
      assert.match(error.message, /^SKILL\.md at .*: [\w.-]+: /);
      return error.issues.map(({ field }) => field);
    }
  };
  assert.deepEqual(strict(TEXT, '/skills/other/SKILL.md'), ['name']);
  assert.deepEqual(strict(TEXT, '/skills/other/SKILL.md', { skipParentDirCheck: true }), []);
  assert.deepEqual(strict('---\nname: P_df\n---\n', '/skills/x/SKILL.md', { skipParentDirCheck: true }).sort().at(0), 'description');
  const { warnings: issues } = drover.parseSkill(TEXT, '/skills/other/SKILL.md', { mode: 'lenient' });
  assert.deepEqual(issues.map(({ field }) => field), ['name']);
  for (const text of ['no frontmatter', '---\n[a\n---\n', '---\n- a\n---\n']) {
    for (const mode of ['strict', 'lenient']) assert.ok(strict(text, '/skills/a/SKILL.md', { mode }).length > 0, text);
  }
  assert.throws(() => drover.parseSkill(TEXT, 'x', { mode: 'loose' }), { code: 'invalid' });
  assert.equal(new drover.SkillLoadError('x', 'broken').message, 'SKILL.md at x: _: broken');
});

test('parseSkillFile is strict and returns the spec', () => {
  assert.equal(drover.parseSkillFile(TEXT, 'pdf/SKILL.md').name, 'pdf');
  assert.throws(() => drover.parseSkillFile(TEXT, 'other/SKILL.md'), drover.SkillLoadError);
});

test('parseAllowedTools separates by spaces, commas and lines', () => {
  assert.deepEqual(drover.parseAllowedTools('Read, Bash(git add, git commit)\nmcp__a__list-b'), ['Read', 'Bash(git add, git commit)', 'mcp__a__list-b']);
  assert.deepEqual([drover.parseAllowedTools(undefined), drover.parseAllowedTools('')], [[], []]);
});

const tree = () =>
  write(newFolder(), {
    'pdf/SKILL.md': TEXT, 'pdf/scripts/fill.py': 'x', 'pdf/scripts/lib/a.py': 'x', 'pdf/references/form.md': 'A form.\n',
    'pdf/.hidden': 'x', 'pdf/LICENSE': 'x', 'pdf/inner/SKILL.md': skill('inner'), 'team/deep/mail/SKILL.md': skill('mail'),
    'a/b/c/d/too-deep/SKILL.md': skill('too-deep'), '_x/draft/SKILL.md': skill('draft'), '.git/x/SKILL.md': skill('x'),
    'node_modules/y/SKILL.md': skill('y'),
  });

test('scanSkillDirs finds skills to depth 3, ends at each, and the first of two names counts', async () => {
  const folder = tree();
  const found = await drover.scanSkillDirs([folder, path.join(folder, 'none')]);
  assert.deepEqual(found.map(({ name }) => name), ['pdf', 'mail']);
  assert.deepEqual(found[0].dir, path.join(folder, 'pdf'));
  assert.deepEqual((await drover.scanSkillDirs([folder], { maxDepth: 1 })).map(({ name }) => name), ['pdf']);
  const skipping = await drover.scanSkillDirs([folder], { skipPrefixes: ['pdf', 'team', '.', 'node_modules'] });
  assert.deepEqual(skipping.map(({ name }) => name), ['draft']);
  const named = write(newFolder(), { 'a/skill.md': skill('a'), 'b/SKILL.md': skill('b') });
  assert.deepEqual((await drover.scanSkillDirs([named], { filename: 'skill.md' })).map(({ name }) => name), ['a']);
  const second = write(newFolder(), { 'pdf/SKILL.md': skill('pdf', 'The second.') });
  assert.equal((await drover.scanSkillDirs([folder, second])).find(({ name }) => name === 'pdf').license, 'MIT');
});

test('scanSkillDirs throws in strict mode, and reports in lenient mode', async () => {
  const folder = write(newFolder(), { 'bad/SKILL.md': 'no frontmatter', 'bad/in/SKILL.md': skill('in'), 'odd/SKILL.md': skill('other') });
  await assert.rejects(drover.scanSkillDirs([folder]), drover.SkillLoadError);
  const issues = [];
  const found = await drover.scanSkillDirs([folder], { mode: 'lenient', onIssue: (file, list) => issues.push([file, list.length > 0]) });
  assert.deepEqual(found.map(({ name }) => name), ['in', 'other']);
  assert.deepEqual(issues, [[path.join(folder, 'bad/SKILL.md'), true], [path.join(folder, 'odd/SKILL.md'), true]]);
});

test('a registry has get, has and list', async () => {
  const registry = drover.createSkillRegistry([{ name: 'a', body: '1' }, { name: 'a', body: '2' }, { name: 'b' }]);
  assert.deepEqual([registry.get('a').body, registry.get('c'), registry.has('b'), registry.has('c')], ['1', undefined, true, false]);
  assert.deepEqual(registry.list().map(({ name }) => name), ['a', 'b']);
});

test('listSkillResources and readSkillResource stay in the folder of the skill', async () => {
  const folder = tree();
  const [spec] = await drover.scanSkillDirs([folder]);
  assert.deepEqual(await drover.listSkillResources(spec), {
    scripts: ['fill.py', 'lib'], references: ['form.md'], assets: [], other: ['LICENSE', 'inner'],
  });
  assert.equal(await drover.readSkillResource(spec, 'references/form.md'), 'A form.\n');
  assert.equal(await drover.readSkillResource(spec, './references/form.md'), 'A form.\n');
  writeFileSync(path.join(folder, 'secret'), 's');
  symlinkSync('../secret', path.join(folder, 'pdf/out'));
  for (const wrong of ['../secret', path.join(folder, 'secret'), 'a/../../secret', 'out', 'none', 'scripts', 'a\0b']) {
    await assert.rejects(drover.readSkillResource(spec, wrong), (error) => typeof error.code === 'string', wrong);
  }
});

test('skillLoadTool gives a skill, its files, and refusals with reasons', async () => {
  const registry = drover.createSkillRegistry(await drover.scanSkillDirs([tree()]));
  const tool = drover.skillLoadTool({ registry, allowed: ['pdf', 'gone'] });
  assert.equal(tool.id, 'skill_load');
  assert.deepEqual(tool.inputSchema.required, ['name']);
  const loaded = await tool.execute({ name: 'pdf' }, { runId: 'r1' });
  assert.match(loaded.content, /^Read the form\.\n\n---\nThis skill has 2 scripts, 1 reference\. `skill_resource\(name="pdf"\)`/);
  assert.deepEqual(Object.keys(loaded.data), ['skill', 'path', 'resources']);
  assert.equal(loaded.isError, undefined);
  const plain = await drover.skillLoadTool({ registry, allowed: ['pdf'], hintResources: false }).execute({ name: 'pdf' });
  assert.deepEqual([plain.content, Object.keys(plain.data)], ['Read the form.', ['skill', 'path']]);
  const refused = await tool.execute({ name: 'mail' });
  assert.deepEqual([refused.isError, refused.data], [true, { skill: 'mail', reason: 'not_allowed' }]);
  assert.match(refused.content, /pdf, gone/);
  assert.deepEqual((await tool.execute({ name: 'gone' }, { runId: 'r1' })).data, { skill: 'gone', reason: 'missing', runId: 'r1' });
  assert.equal((await drover.skillLoadTool({ registry, allowed: [] }).execute({ name: 'pdf' })).data.reason, 'not_allowed');
  assert.equal((await tool.execute({})).data.reason, 'not_allowed');
  assert.throws(() => drover.skillLoadTool({ allowed: [] }), { code: 'invalid' });
});

test('skillResourceTool lists and reads, within its limit', async () => {
  const folder = tree();
  const registry = drover.createSkillRegistry(await drover.scanSkillDirs([folder]));
  const tool = drover.skillResourceTool({ registry, allowed: ['pdf', 'mail', 'gone'] });
  assert.equal(tool.id, 'skill_resource');
  assert.equal((await tool.execute({ name: 'pdf' })).content, '## scripts\n- scripts/fill.py\n- scripts/lib\n\n## references\n- references/form.md\n\n## other\n- LICENSE\n- inner');
  assert.equal((await tool.execute({ name: 'mail' })).content, '(no files)');
  const read = await tool.execute({ name: 'pdf', resource: 'references/form.md' });
  assert.deepEqual(read, { content: 'A form.\n', data: { skill: 'pdf', resource: 'references/form.md' } });
  writeFileSync(path.join(folder, 'pdf/assets.bin'), 'x'.repeat(65536));
  assert.equal((await tool.execute({ name: 'pdf', resource: 'assets.bin' })).content.length, 65536);
  writeFileSync(path.join(folder, 'pdf/assets.bin'), 'x'.repeat(65537));
  assert.equal((await tool.execute({ name: 'pdf', resource: 'assets.bin' })).data.reason, 'too_large');
  const small = drover.skillResourceTool({ registry, allowed: ['pdf'], maxBytes: 3 });
  assert.equal((await small.execute({ name: 'pdf', resource: 'references/form.md' })).data.reason, 'too_large');
  assert.equal((await tool.execute({ name: 'pdf', resource: '../x' })).data.reason, 'read_failed');
  assert.equal((await tool.execute({ name: 'x' })).data.reason, 'not_allowed');
  assert.equal((await tool.execute({ name: 'gone' })).data.reason, 'missing');
});

test('renderSkillsBlock lists the allowed skills in their order', async () => {
  const registry = drover.createSkillRegistry(await drover.scanSkillDirs([tree()]));
  assert.equal(
    drover.renderSkillsBlock(registry, ['mail', 'none', 'pdf']),
    '\n## Available skills\n\nCall `skill_load(name="<name>")` for the instructions of one of these:\n\n- mail: About mail.\n- pdf: Fills in forms.  (compatibility: Needs python3)',
  );
  assert.equal(drover.renderSkillsBlock(registry, []), '');
  assert.equal(drover.renderSkillsBlock(registry, ['none']), '');
  const long = drover.createSkillRegistry([{ name: 'a', description: `${'word '.repeat(100)}\n## Ignore` }]);
  assert.ok(drover.renderSkillsBlock(long, ['a']).split('\n').at(-1).length < 240);
});
