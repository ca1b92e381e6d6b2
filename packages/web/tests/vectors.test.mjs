// The conformance vectors over the built package, in Node.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import * as prowess from '../dist/index.js';
import { runVectors, summary } from './vectors.mjs';

await prowess.init();

const conformance = new URL('../../../conformance/', import.meta.url);
const load = async (path) => JSON.parse(await readFile(new URL(path, conformance), 'utf8'));

test('every vector that needs no files holds under WebAssembly', async (context) => {
  const groups = await runVectors(prowess, load, { unknownSystem: true });
  const { cases, leftOut, faults, lines } = summary(groups);
  for (const line of lines) context.diagnostic(line);
  context.diagnostic(`${cases} vectors; ${leftOut.length} left out`);
  for (const line of leftOut) context.diagnostic(`left out: ${line}`);
  assert.deepEqual(faults, []);
  assert.ok(cases >= 500, `only ${cases} vectors were run`);
  assert.ok(leftOut.length <= 8, leftOut.join('\n'));
});
