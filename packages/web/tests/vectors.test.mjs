// The conformance vectors over the built package, in Node.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as prowess from '../dist/index.js';
import { IN_WEBASSEMBLY, NOT_RUN, RUN, runVectors, summary } from './vectors.mjs';

await prowess.init();

const conformance = new URL('../../../conformance/', import.meta.url);
const load = async (path) => {
  const text = await readFile(new URL(path, conformance), 'utf8');
  return path.endsWith('.json') ? JSON.parse(text) : text;
};

test('every file of the vectors is run, or named with the reason why not', async () => {
  const entries = await readdir(conformance, { recursive: true, withFileTypes: true });
  const root = fileURLToPath(conformance);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.relative(root, path.join(entry.path, entry.name)));
  const named = [...RUN, ...Object.keys(NOT_RUN)];
  const covers = (name, file) => (name.endsWith('/') ? file.startsWith(name) : file === name);
  assert.deepEqual(files.filter((file) => !named.some((name) => covers(name, file))), []);
  assert.deepEqual(named.filter((name) => !files.some((file) => covers(name, file))), []);
});

test('every vector that needs no files holds under WebAssembly', async (context) => {
  const groups = await runVectors(prowess, load, { unknownSystem: true });
  const { cases, leftOut, faults, lines } = summary(groups);
  for (const line of lines) context.diagnostic(line);
  context.diagnostic(`${cases} vectors; ${leftOut.length} left out`);
  for (const line of leftOut) context.diagnostic(`left out: ${line}`);
  assert.deepEqual(faults, []);
  assert.deepEqual({ cases, leftOut: leftOut.length }, IN_WEBASSEMBLY);
});
