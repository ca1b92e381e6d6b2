// The package as a program uses it, in Node.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as prowess from '../dist/index.js';
import { defineApiTests } from './api-cases.mjs';
import { defineCallbackTests } from './callback-cases.mjs';
import { defineChatTests } from './chat-cases.mjs';
import { BUSY } from './nested.mjs';

test('nothing works before the engine is loaded, and the error says what to do', () => {
  assert.throws(() => prowess.parse(''), { name: 'ProwessError', code: 'not-ready', message: /await/ });
  assert.equal(prowess.isReady(), false);
});

await test('what is not the engine is refused, and changes nothing', async () => {
  const empty = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
  const refused = { name: 'ProwessError', code: 'not-ready' };
  for (const wrong of [new WebAssembly.Module(empty), empty, new Response(empty), new Uint8Array(3), 5, 'none:x']) {
    await assert.rejects(prowess.init(wrong), refused);
  }
  await assert.rejects(prowess.init(Promise.reject(new Error('x'))), refused);
  for (const wrong of [undefined, null, 5, empty, new WebAssembly.Module(empty)]) assert.throws(() => prowess.initSync(wrong), refused);
  assert.equal(prowess.isReady(), false);
});

await test('the engine loads', async () => {
  await prowess.init();
  assert.equal(prowess.isReady(), true);
  assert.ok(prowess.check('x').length > 0);
});

test('the types have every name of the package, and no other', async () => {
  const namesIn = async (...files) => {
    const texts = await Promise.all(files.map((file) => readFile(new URL(`../dist/${file}.d.ts`, import.meta.url), 'utf8')));
    const found = texts.flatMap((text) => [...text.matchAll(/^export (?:(?:function|class|const) (\w+)|\{ (\w+) \}|(default))/gm)]);
    return [...new Set(found.map(([, one, other, usual]) => one ?? other ?? usual))].sort();
  };
  const modules = { index: ['index', 'types'], deuz: ['deuz'], adapters: ['adapters'], 'ai-sdk': ['ai-sdk'] };
  for (const [name, files] of Object.entries(modules)) {
    assert.deepEqual(await namesIn(...files), Object.keys(await import(`../dist/${name}.js`)).sort(), name);
  }
});

defineApiTests(prowess, new URL('../dist/index.js', import.meta.url).href);
defineChatTests(prowess);
defineCallbackTests(prowess);

test('without contexts, as in a browser, callbacks that never end are busy too', { timeout: 120_000 }, () => {
  const [child, specifier] = ['nested.mjs', '../dist/index.js'].map((file) => new URL(file, import.meta.url));
  const said = execFileSync(process.execPath, [fileURLToPath(child), specifier.href], { encoding: 'utf8' });
  assert.deepEqual(JSON.parse(said), [BUSY, 800]);
});

test('handles of WebAssembly are freed after errors', async (context) => {
  const engine = await import('../dist/engine.js');
  const freed = [];
  for (const name of ['Library', 'Session']) {
    const { free } = engine[name].prototype;
    engine[name].prototype.free = function counted() { freed.push(name); return free.call(this); };
    context.after(() => { engine[name].prototype.free = free; });
  }
  let broken = false;
  const list = () => { if (broken) throw new Error('x'); return []; };
  const skills = await prowess.Skills.open({ list, read: () => '' });
  await assert.rejects(skills.search('x', { filter: 5 }), prowess.InvalidArgumentError);
  assert.deepEqual(freed, ['Session']);
  broken = true;
  await assert.rejects(skills.refresh(), prowess.SourceError);
  assert.deepEqual(freed, ['Session', 'Library']);
  assert.equal(skills.size, 0);
});

test('the limits of a digest are those of the library', async () => {
  const numbers = async (file, pattern) => (await readFile(new URL(`../../../${file}`, import.meta.url), 'utf8')).match(pattern).slice(1).map((digits) => Number(digits.replaceAll('_', '')));
  const [files, bytes, power] = await numbers('packages/web/js/reading.js', /MAX_FILES = ([\d_]+);\nconst MAX_BYTES = (\d+) << (\d+);/);
  const listed = await numbers('crates/prowess/src/fs/listing/mod.rs', /MAX_LISTED_ENTRIES: usize = ([\d_]+);/);
  const covered = await numbers('crates/prowess/src/registry/digests.rs', /BYTES: u64 = (\d+) << (\d+);/);
  assert.deepEqual([[files], [bytes, power]], [listed, covered]);
});
