// The package as a program uses it, in Node.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import * as prowess from '../dist/index.js';
import { defineApiTests } from './api-cases.mjs';
import { defineChatTests } from './chat-cases.mjs';

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
