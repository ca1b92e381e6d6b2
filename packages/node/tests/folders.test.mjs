// Skills in folders: opened, read, searched, watched and approved, and the places that are no folders.

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

import {
  checkFolder, ClosedError, InvalidArgumentError, LoadError, loadFolder, memorySource, Skills, SourceError,
} from 'prowess';
import * as deuz from 'prowess/deuz';
import * as drover from 'prowess/drover';

import { newFolder, skill, write } from './place.mjs';

const FILES = {
  'review/SKILL.md': skill('review', 'Reviews code changes.', 'Look at references/style.md.'),
  'review/references/style.md': 'Be kind.\n',
  'tax/SKILL.md': skill('tax', 'Files taxes.'),
};
const folderOf = (files = FILES) => write(newFolder(), files);

test('a folder serves a chat: prompt, tools, search, activation, files', async () => {
  const folder = folderOf();
  const skills = await Skills.open(folder);
  assert.deepEqual([skills.keys(), skills.size, skills.problems], [['review', 'tax'], 2, []]);
  assert.equal(skills.get('tax').location, path.join(folder, 'tax/SKILL.md'));
  assert.equal((await skills.search('file my taxes'))[0].key, 'tax');
  assert.deepEqual((await skills.files('review')).map((file) => file.path), ['SKILL.md', 'references/style.md']);
  const bytes = await skills.read('review', 'references/style.md');
  assert.ok(bytes instanceof Uint8Array);
  assert.equal(await skills.readText('review', 'references/style.md', { offset: 3, limit: 4 }), 'kind');
  const chat = skills.chat('one');
  assert.match(await chat.prompt(), /- tax: Files taxes\./);
  assert.match(await chat.promptFor('taxes', { narrowing: { topK: 1 } }), /- tax/);
  assert.match((await chat.call('load_skill', { name: 'review' })).text, /Look at references/);
  assert.match((await chat.call('read_skill_resource', { name: 'review', path: 'references/style.md' })).text, /Be kind/);
  assert.match((await chat.call('search_skills', { query: 'taxes' })).text, /tax/);
  assert.equal((await chat.call('read_skill_resource', { name: 'review', path: '../tax/SKILL.md' })).reason, 'bad-path');
});

test('no link leads out of a skill', async () => {
  const folder = folderOf();
  writeFileSync(path.join(folder, 'secret.txt'), 'secret');
  symlinkSync('../secret.txt', path.join(folder, 'tax/out.txt'));
  const skills = await Skills.open(folder);
  await assert.rejects(skills.read('tax', 'out.txt'), (error) => error instanceof SourceError && error.code === 'outside');
  await assert.rejects(skills.read('tax', '../secret.txt'), (error) => error instanceof SourceError && error.code === 'outside');
  await assert.rejects(skills.read('tax', 'none.txt'), (error) => error instanceof SourceError && error.code === 'missing');
  await assert.rejects(skills.read('none'), (error) => error instanceof SourceError && error.code === 'not-found');
});

test('places are texts, URLs, tables and layers, beside sources in JavaScript', async () => {
  const folder = folderOf();
  const opened = async (source) => (await Skills.open(source)).keys();
  assert.deepEqual(await opened(pathToFileURL(folder)), ['review', 'tax']);
  assert.deepEqual(await opened({ dir: folder, prefix: 'team' }), ['team:review', 'team:tax']);
  assert.deepEqual(await opened({ dir: pathToFileURL(folder), keyFrom: 'folder' }), ['review', 'tax']);
  assert.deepEqual(await opened(`dir=${folder},prefix=text`), ['text:review', 'text:tax']);
  assert.deepEqual(await opened({ source: folder, prefix: 'layer', mount: 'shared' }), ['layer:review', 'layer:tax']);
  assert.deepEqual(await opened({ source: { dir: folder }, prefix: 'layer' }), ['layer:review', 'layer:tax']);
  assert.deepEqual(await opened({ name: 'here', description: 'Is written here.', instructions: 'Do.' }), ['here']);
  assert.deepEqual(await opened({ dir: path.join(folder, 'none'), optional: true }), []);
  const mixed = await Skills.open([memorySource({ tax: skill('tax', 'Mine.'), own: skill('own') }), folder]);
  assert.deepEqual(mixed.keys(), ['own', 'review', 'tax']);
  assert.equal(mixed.get('tax').description, 'Mine.');
  assert.match(await mixed.readText('review'), /Reviews code/);
  assert.match(await mixed.readText('own'), /Body of own/);
  assert.equal((await mixed.search('reviews code'))[0].key, 'review');
  const preloaded = (await Skills.open({ source: folder, preload: true, scope: 'user' })).chat();
  await preloaded.prompt();
  assert.deepEqual(preloaded.active, ['review', 'tax']);
});

test('a folder that cannot be listed hides no other source, and is a warning of the process', async () => {
  const none = path.join(newFolder(), 'none');
  const own = memorySource({ own: skill('own') });
  const warnings = [];
  const listen = (warning) => { if (warning.name === 'SkillWarning') warnings.push(warning.message); };
  process.on('warning', listen);
  try {
    const skills = await Skills.open([none, own, folderOf()]);
    assert.deepEqual(skills.keys(), ['own', 'review', 'tax']);
    assert.deepEqual(skills.problems.map(({ code }) => code), ['missing']);
    await skills.refresh();
    // Warnings are emitted in the next tick.
    await new Promise((resolve) => { setImmediate(resolve); });
    assert.equal(warnings.length, 1);
    assert.ok(warnings[0].includes(none), warnings[0]);
  } finally {
    process.off('warning', listen);
  }
  await assert.rejects(Skills.open([none, own], { sourceErrors: 'fail' }), (error) => error.code === 'missing');
  const boom = new Error('boom');
  const down = { list: () => { throw boom; }, read: () => null };
  await assert.rejects(Skills.open([down, none]), (error) => error instanceof SourceError && error.cause === boom);
  await assert.rejects(Skills.open([none, down]), (error) => error instanceof SourceError && error.code === 'missing');
});

test('what nodeSkillSource cannot read is a warning of the process, once', async () => {
  const folder = write(newFolder(), { 'good/SKILL.md': skill('good'), 'large/SKILL.md': skill('large') + 'x'.repeat(2 << 20) });
  const source = deuz.nodeSkillSource([folder]);
  const said = [];
  const { emitWarning } = process;
  process.emitWarning = (message, { type }) => said.push([type, message.includes(path.join(folder, 'large'))]);
  try {
    for (const _ of [1, 2]) assert.deepEqual((await source.list()).map(({ id }) => id), ['good']);
  } finally {
    process.emitWarning = emitWarning;
  }
  assert.deepEqual(said, [['SkillWarning', true]]);
});

test('a place that cannot be opened is an error of the right class', async () => {
  const none = path.join(newFolder(), 'none');
  await assert.rejects(Skills.open(none), (error) => error instanceof SourceError && error.code === 'missing' && error.message.includes(none));
  await assert.rejects(Skills.open('dir=x,colour=red'), InvalidArgumentError);
  await assert.rejects(Skills.open({ dir: 7 }), InvalidArgumentError);
  await assert.rejects(Skills.open({ folder: 'x' }), InvalidArgumentError);
  await assert.rejects(Skills.open({ source: folderOf(), trusted: false }), InvalidArgumentError);
  const keys = { dirr: /no such key: dirr; the keys are dir, .*caFile.*mount, .*keyFrom/, key_from: /no such key: key_from/, mcp: /npx prowess serve/ };
  for (const [key, message] of Object.entries(keys)) {
    await assert.rejects(Skills.open({ [key]: 'x' }), (error) => error instanceof InvalidArgumentError && message.test(error.message));
  }
  await assert.rejects(Skills.open('prefix=x,mcp=https://example.com'), /npx prowess serve/);
  await assert.rejects(Skills.open({ dir: 'x', preload: 'yes' }), /preload must be true or false/);
  await assert.rejects(Skills.open({ source: './skills', zzz: 1 }), ({ message }) => /no such option: zzz/.test(message) && !/trusted/.test(message));
  await assert.rejects(Skills.open(folderOf(), { signal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('a path with NUL is a wrong argument', async () => {
  const nul = `${newFolder()}/a\0b`;
  const ways = [
    () => Skills.open(nul), () => Skills.open({ dir: nul }), () => Skills.open({ source: nul }), () => Skills.open(new URL('file:///a%00b')),
    () => Skills.open({ dir: newFolder(), caFile: nul }), () => Skills.ofUser({ from: nul }), () => loadFolder(nul), () => checkFolder(nul),
    () => drover.scanSkillDirs([nul]), async () => deuz.nodeSkillSource([nul]),
  ];
  for (const way of ways) {
    await assert.rejects(way(), (error) => error instanceof InvalidArgumentError && /NUL/.test(error.message), String(way));
  }
});

test('a refresh reads folders again, and chats follow', async () => {
  const folder = folderOf();
  const skills = await Skills.open(folder);
  const chat = skills.chat();
  await chat.activate('tax');
  rmSync(path.join(folder, 'tax'), { recursive: true });
  write(folder, { 'new/SKILL.md': skill('new') });
  assert.deepEqual(await skills.refresh(), { added: ['new'], changed: [], removed: ['tax'], newlyBroken: [] });
  assert.deepEqual([chat.active, skills.keys()], [[], ['new', 'review']]);
  const both = await Promise.all([skills.refresh(), skills.refresh(), skills.refresh()]);
  assert.ok(both.every(({ added, removed }) => added.length + removed.length === 0));
});

/** Puts a SKILL.md in its place at once, so that no reader sees a part of it. */
function replaceSkill(folder, name, text) {
  const aside = write(newFolder(), { 'SKILL.md': text });
  write(folder, { [`${name}/notes.md`]: 'x' });
  renameSync(path.join(aside, 'SKILL.md'), path.join(folder, name, 'SKILL.md'));
}

test('watch yields each change after it was read, and ends with its signal', { timeout: 60_000 }, async () => {
  const folder = folderOf();
  const skills = await Skills.open([folder, memorySource({ own: skill('own') })]);
  const control = new AbortController();
  const seen = [];
  const watching = (async () => {
    for await (const delta of skills.watch({ signal: control.signal })) {
      seen.push(delta);
      if (delta.added.includes('one')) {
        assert.ok(skills.has('one'));
        replaceSkill(folder, 'one', skill('one', 'Changed.'));
      }
      if (delta.changed.includes('one')) {
        assert.equal(skills.get('one').description, 'Changed.');
        control.abort();
      }
    }
  })();
  // What was written before the watch began is seen too.
  replaceSkill(folder, 'one', skill('one'));
  await assert.rejects(watching, { name: 'AbortError' });
  assert.ok(seen.length >= 2);
  const changes = skills.watch();
  rmSync(path.join(folder, 'tax'), { recursive: true });
  for await (const { removed } of changes) {
    // A late event of what was written before may come first.
    if (removed.length === 0) continue;
    assert.deepEqual(removed, ['tax']);
    break;
  }
  assert.deepEqual(await changes.next(), { value: undefined, done: true });
});

test('a refresh is seen by a watch, and closing ends it', { timeout: 60_000 }, async () => {
  const files = { a: skill('a') };
  const skills = await Skills.open({ list: () => Object.keys(files), read: (id) => files[id] });
  const changes = skills.watch();
  const first = changes.next();
  files.b = skill('b');
  await skills.refresh();
  assert.deepEqual((await first).value.added, ['b']);
  const second = changes.next();
  skills.close();
  await assert.rejects(second, ClosedError);
});

test('changes that no caller takes are merged, and none is lost', async () => {
  const files = { first: skill('first') };
  const skills = await Skills.open({ list: () => Object.keys(files), read: (id) => files[id] });
  const changes = skills.watch();
  for (let at = 0; at < 200; at += 1) {
    files[`s${at}`] = skill(`s${at}`);
    if (at > 150) delete files[`s${at - 1}`];
    files.first = skill('first', `Number ${at}.`);
    await skills.refresh();
  }
  delete files.first;
  await skills.refresh();
  const taken = [];
  while (taken.at(-1)?.removed.includes('first') !== true) taken.push((await changes.next()).value);
  await changes.return();
  assert.ok(taken.length <= 64, `${taken.length} changes`);
  const there = new Set(['first']);
  for (const { added, changed, removed } of taken) {
    for (const key of removed) assert.ok(there.delete(key), key);
    for (const key of added) assert.ok(!there.has(key) && there.add(key), key);
    for (const key of changed) assert.ok(there.has(key), key);
  }
  assert.deepEqual([...there].sort(), skills.keys());
});

test('a watch that begins while skills are refreshed reports each change once, and in order', async () => {
  for (let round = 0; round < 50; round += 1) {
    const files = {};
    const skills = await Skills.open({ list: () => Object.keys(files), read: (id) => files[id] });
    const changes = skills.watch();
    for (const name of ['a', 'b', 'c']) {
      files[name] = skill(name);
      await skills.refresh();
    }
    const added = [];
    while (added.at(-1) !== 'c') added.push(...(await changes.next()).value.added);
    assert.deepEqual(added, ['a', 'b', 'c'], `round ${round}`);
    skills.close();
  }
});

test('an approval covers what was approved', async () => {
  const folder = folderOf();
  const asked = [];
  const policy = { scopes: { explicit: { approve: true } } };
  const skills = await Skills.open(folder, { policy, approve: ({ key }, digest) => asked.push([key, digest]) > 0 });
  const chat = skills.chat();
  assert.equal((await chat.call('load_skill', { name: 'review' })).ok, true);
  assert.match(asked[0][1], /^sha256:[0-9a-f]{64}$/);
  writeFileSync(path.join(folder, 'review/references/style.md'), 'Be cruel.\n');
  const again = await chat.call('read_skill_resource', { name: 'review', path: 'references/style.md' });
  assert.equal(again.reason, 'changed');
});

test('one broken skill hides no other, and profiles decide what is offered', async () => {
  const folder = folderOf({ ...FILES, 'broken/SKILL.md': 'no frontmatter', 'Bad_Name/SKILL.md': skill('Bad_Name') });
  const skills = await Skills.open(folder);
  assert.deepEqual(skills.keys(), ['Bad_Name', 'review', 'tax']);
  const broken = skills.all().find(({ offered }) => !offered);
  assert.deepEqual([broken.obstacle, broken.problems[0].code], ['broken', 'frontmatter-missing']);
  assert.deepEqual((await Skills.open(folder, { profile: 'spec' })).keys(), ['review', 'tax']);
});

test('a chat that is restored from its state as an object knows that nothing changed', async () => {
  const skills = await Skills.open(folderOf({ 'a/SKILL.md': skill('a') }));
  const chat = skills.chat();
  await chat.activate('a');
  assert.deepEqual(skills.restore(chat.state).changed, []);
  assert.deepEqual(skills.restore(JSON.stringify(chat.state)).changed, []);
});

test('a watch that ended watches no more, before any garbage is collected', { skip: process.platform !== 'linux' }, async () => {
  const open = () => readdirSync('/proc/self/fd').map((fd) => {
    try { return readlinkSync(`/proc/self/fd/${fd}`); } catch { return ''; }
  }).filter((target) => target.includes('inotify')).length;
  const skills = await Skills.open(folderOf({ 'a/SKILL.md': skill('a') }));
  const before = open();
  for (let at = 0; at < 20; at += 1) {
    const watching = skills.watch();
    const next = watching.next();
    await watching.return();
    await next;
  }
  // The thread that waits ends within a moment.
  for (let at = 0; at < 2400 && open() > before; at += 1) await new Promise((done) => { setTimeout(done, 25); });
  assert.ok(open() <= before);
});

test('ofUser reads the folders of the user, seen from a project', async () => {
  const home = folderOf({ '.agents/skills/mine/SKILL.md': skill('mine'), 'project/.git/HEAD': '', 'project/.agents/skills/theirs/SKILL.md': skill('theirs') });
  const { HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME, XDG_STATE_HOME } = process.env;
  Object.assign(process.env, { HOME: home, XDG_CACHE_HOME: `${home}/.cache`, XDG_CONFIG_HOME: `${home}/.config`, XDG_STATE_HOME: `${home}/.state` });
  try {
    const skills = await Skills.ofUser({ from: path.join(home, 'project'), cache: false });
    const found = new Map(skills.all().map((one) => [one.key, one]));
    assert.equal(found.get('mine').obstacle, null);
    assert.equal(found.get('theirs').obstacle, 'untrusted');
    assert.ok((await Skills.ofUser({ from: home, cache: false, builtins: true })).has('writing-skills'));
    await assert.rejects(Skills.ofUser({ client: 'none' }), InvalidArgumentError);
    // Settings of a chat are over those of the user: what they do not name stays.
    mkdirSync(`${home}/.config/prowess`, { recursive: true });
    writeFileSync(`${home}/.config/prowess/prowess.toml`, "[session]\nfilter = 'elsewhere/*'\n");
    const filtered = await Skills.ofUser({ from: home, cache: false });
    for (const settings of [{}, { policy: { run: true } }, { options: { maxActive: 2 } }]) {
      assert.equal(await filtered.chat('c', settings).prompt(), '', JSON.stringify(settings));
    }
    assert.match(await filtered.chat('c', { policy: { filter: '*' } }).prompt(), /mine/);
    const also = await Skills.open([memorySource({ a: skill('a') }), { user: { from: home, cache: false } }]);
    assert.deepEqual(also.keys(), ['a', 'mine']);
  } finally {
    for (const [name, value] of Object.entries({ HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME, XDG_STATE_HOME })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
});

test('loadFolder and checkFolder take a folder or a SKILL.md', async () => {
  const folder = folderOf({ ...FILES, 'bad/SKILL.md': skill('other', 'See it.', 'Read [this](none.md).'), 'broken/SKILL.md': '' });
  const loaded = await loadFolder(path.join(folder, 'review'));
  assert.deepEqual([loaded.name, loaded.body], ['review', 'Look at references/style.md.']);
  assert.equal((await loadFolder(pathToFileURL(path.join(folder, 'review/SKILL.md')))).name, 'review');
  const codes = (await checkFolder(path.join(folder, 'bad'))).map(({ code }) => code);
  assert.ok(codes.includes('name-folder-mismatch') && codes.some((code) => code.startsWith('link-')), codes.join());
  await assert.rejects(loadFolder(path.join(folder, 'bad'), { profile: 'spec' }), (error) => error instanceof LoadError && error.problems.length > 0);
  await assert.rejects(loadFolder(path.join(folder, 'broken')), LoadError);
  await assert.rejects(loadFolder(path.join(folder, 'none')), (error) => error instanceof SourceError && error.code === 'missing');
  await assert.rejects(checkFolder(7), InvalidArgumentError);
  await assert.rejects(checkFolder(folder, { profil: 'spec' }), InvalidArgumentError);
});
