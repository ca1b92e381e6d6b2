// Every name of the vocabulary of drover, with its arguments and defaults.

import assert from 'node:assert/strict';
import { chmodSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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
  const whole = await drover.scanSkillDirs([folder], { maxDepth: 99 });
  assert.deepEqual(await drover.scanSkillDirs([folder], { maxDepth: Infinity }), whole);
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

test('what scanSkillDirs leaves out is a warning of the process without onIssue', async () => {
  const folder = write(newFolder(), { 'good/SKILL.md': skill('good'), 'large/SKILL.md': skill('large') + 'x'.repeat(2 << 20), 'bad/SKILL.md': 'no frontmatter' });
  const warnings = [];
  const listen = (warning) => { if (warning.name === 'SkillWarning') warnings.push(warning.message); };
  process.on('warning', listen);
  try {
    assert.deepEqual((await drover.scanSkillDirs([folder], { mode: 'lenient' })).map(({ name }) => name), ['good']);
    // Warnings are emitted in the next tick.
    await new Promise((resolve) => { setImmediate(resolve); });
  } finally {
    process.off('warning', listen);
  }
  for (const left of ['bad', 'large']) {
    assert.equal(warnings.filter((text) => text.includes(path.join(folder, left))).length, 1, warnings.join('\n'));
  }
  assert.equal(warnings.length, 2);
});

test('scanSkillDirs finds no skill in a skill, whatever its folder is called', async () => {
  const names = (found) => found.map(({ name }) => name);
  for (const filename of ['SKILL.md', 'skill.md', 'ZZZ.md']) {
    const folder = write(newFolder(), {
      [`a/${filename}`]: skill('a'), [`a/1-intro/${filename}`]: skill('1-intro'), [`a/B/${filename}`]: skill('B'), [`a/zzz/${filename}`]: skill('zzz'),
      [`a-b/${filename}`]: skill('a-b'), [`b/c/${filename}`]: skill('c'),
    });
    assert.deepEqual(names(await drover.scanSkillDirs([folder], { filename })), ['a', 'a-b', 'c'], filename);
    // A root in a skill is a root of its own.
    assert.deepEqual(names(await drover.scanSkillDirs([folder, path.join(folder, 'a/zzz')], { filename })), ['a', 'a-b', 'c', 'zzz'], filename);
  }
});

test('only skipPrefixes decides which folders scanSkillDirs skips', async () => {
  const folder = write(newFolder(), {
    '.x/one/SKILL.md': skill('one'), 'node_modules/two/SKILL.md': skill('two'), '_y/three/SKILL.md': skill('three'),
    '.claude/skills/four/SKILL.md': skill('four'), '.git/five/SKILL.md': skill('five'), 'six/SKILL.md': skill('six'),
  });
  const names = async (opts) => (await drover.scanSkillDirs([folder], opts)).map(({ name }) => name).sort();
  assert.deepEqual(await names(), ['six']);
  assert.deepEqual(await names({ skipPrefixes: ['_'] }), ['four', 'one', 'six', 'two']);
  // Never what git keeps.
  assert.deepEqual(await names({ skipPrefixes: [] }), ['four', 'one', 'six', 'three', 'two']);
});

test('a SKILL.md that cannot be read hides no other', async () => {
  const outside = write(newFolder(), { 'secret.md': skill('out') });
  const folder = write(newFolder(), { 'good/SKILL.md': skill('good'), 'large/SKILL.md': skill('large') + 'x'.repeat(2 << 20), 'bytes/SKILL.md': Uint8Array.of(0xff, 0xfe, 0) });
  write(folder, { 'out/x.md': 'x' });
  symlinkSync(path.join(outside, 'secret.md'), path.join(folder, 'out/SKILL.md'));
  for (const mode of ['strict', 'lenient']) {
    if (mode === 'strict') rmSync(path.join(folder, 'bytes'), { recursive: true });
    else write(folder, { 'bytes/SKILL.md': Uint8Array.of(0xff, 0xfe, 0) });
    const issues = new Map();
    const found = await drover.scanSkillDirs([folder], { mode, onIssue: (file, list) => issues.set(path.relative(folder, file), list) });
    assert.deepEqual(found.map(({ name }) => name), ['good'], mode);
    assert.ok(issues.get('large/SKILL.md')[0].message.includes('too large'), JSON.stringify([...issues]));
    assert.equal(issues.get('out/SKILL.md')[0].field, '_');
    if (mode === 'lenient') assert.ok(issues.has('bytes/SKILL.md'));
  }
  if (process.getuid?.() === 0) return; // root reads every file
  const locked = write(newFolder(), { 'good/SKILL.md': skill('good'), 'locked/SKILL.md': skill('locked') });
  chmodSync(path.join(locked, 'locked/SKILL.md'), 0);
  assert.deepEqual((await drover.scanSkillDirs([locked])).map(({ name }) => name), ['good']);
});

test('roots, prefixes and names are lists, and never the letters of a text', async () => {
  for (const roots of ['/', 'abc', 5, null, [5]]) await assert.rejects(drover.scanSkillDirs(roots), { code: 'invalid' });
  await assert.rejects(drover.scanSkillDirs([], { skipPrefixes: '_' }), { code: 'invalid' });
  const registry = drover.createSkillRegistry([]);
  for (const work of [
    () => drover.renderSkillsBlock(registry, 'abc'), () => drover.renderSkillsBlock(null, []), () => drover.createSkillRegistry('abc'),
    () => drover.createSkillRegistry([null]), () => drover.skillLoadTool({ registry, allowed: 'abc' }), () => drover.skillResourceTool(),
  ]) assert.throws(work, { code: 'invalid' }, String(work));
});

test('metadata leaves out what is null, and a long compatibility stays in a lenient spec', () => {
  const { metadata } = drover.parseSkillFile('---\nname: a\ndescription: b\nmetadata:\n  x: null\n  y: 1.0\n---\n', 'a/SKILL.md');
  assert.deepEqual(metadata, { y: '1.0' });
  const long = 'c'.repeat(501);
  const { spec, warnings } = drover.parseSkill(`---\nname: a\ndescription: b\ncompatibility: ${long}\n---\n`, 'a/SKILL.md', { mode: 'lenient' });
  assert.deepEqual([spec.compatibility, warnings.map(({ field }) => field)], [long, ['compatibility']]);
});

test('a skill whose folder is gone has no files, and never those of the folder above it', async () => {
  const folder = write(newFolder(), { 'pdf/SKILL.md': TEXT, 'pdf/scripts/a.py': 'x', 'mail/SKILL.md': skill('mail') });
  const registry = drover.createSkillRegistry(await drover.scanSkillDirs([folder]));
  const empty = { scripts: [], references: [], assets: [], other: [] };
  const options = { registry, allowed: ['pdf'] };
  rmSync(path.join(folder, 'pdf'), { recursive: true });
  for (const replaced of [false, true]) {
    if (replaced) writeFileSync(path.join(folder, 'pdf'), 'a file');
    assert.deepEqual(await drover.listSkillResources(registry.get('pdf')), empty);
    const loaded = await drover.skillLoadTool(options).execute({ name: 'pdf' });
    assert.deepEqual([loaded.content, loaded.data.resources], ['Read the form.', empty]);
    const listed = await drover.skillResourceTool(options).execute({ name: 'pdf' });
    assert.deepEqual([listed.content, listed.data.resources], ['(no files)', empty]);
    assert.equal((await drover.skillResourceTool(options).execute({ name: 'pdf', resource: 'scripts/a.py' })).data.reason, 'read_failed');
  }
  const { spec } = drover.parseSkill(TEXT, path.join(folder, 'never/pdf/SKILL.md'));
  assert.deepEqual(await drover.listSkillResources(spec), empty);
});

test('a skill with another file name is loaded with its files', async () => {
  const folder = write(newFolder(), { 'pdf/PROMPT.md': TEXT, 'pdf/scripts/a.py': 'x', 'pdf/notes.md': 'x' });
  const registry = drover.createSkillRegistry(await drover.scanSkillDirs([folder], { filename: 'PROMPT.md' }));
  const loaded = await drover.skillLoadTool({ registry, allowed: ['pdf'] }).execute({ name: 'pdf' });
  assert.deepEqual(loaded.data.resources, { scripts: ['a.py'], references: [], assets: [], other: ['notes.md'] });
  const read = await drover.skillResourceTool({ registry, allowed: ['pdf'] }).execute({ name: 'pdf', resource: 'notes.md' });
  assert.equal(read.content, 'x');
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
  symlinkSync('../../secret', path.join(folder, 'pdf/references/out'));
  // What cannot be read is not listed.
  assert.deepEqual((await drover.listSkillResources(spec)).references, ['form.md']);
  assert.deepEqual((await drover.listSkillResources(spec)).other, ['LICENSE', 'inner']);
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
  assert.deepEqual((await tool.execute({ name: Symbol('x') })).data, { skill: 'a symbol', reason: 'not_allowed' });
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
  assert.equal((await tool.execute({ name: 'pdf', resource: Symbol('x') })).data.reason, 'read_failed');
  assert.deepEqual((await tool.execute({ name: 'gone' }, { runId: 'r1' })).data, { skill: 'gone', reason: 'missing' });
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

test('a spec that no SKILL.md can hold hides no other in renderSkillsBlock', () => {
  const registry = drover.createSkillRegistry([
    { name: 'good', description: 'Is good.' }, { name: 'blank', description: ' ' }, { name: 'none' },
    { name: 'long', description: '\u0001'.repeat(70_000), compatibility: 'c'.repeat(70_000) }, { name: ' ', description: 'Has no name.' },
  ]);
  const block = drover.renderSkillsBlock(registry, ['good', 'blank', 'none', 'long', ' ']);
  assert.match(block, /- good: Is good\.\n- blank: blank\n- none: none\n- long: /);
  assert.match(block, /: Has no name\./);
  assert.ok(block.includes(`${'c'.repeat(499)}…`) && !block.includes('c'.repeat(500)));
});
