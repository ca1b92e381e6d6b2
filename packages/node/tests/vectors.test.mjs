// The conformance vectors over the installed package: every file that the package for browsers runs, and those that
// need files of a real folder.

import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import * as prowess from 'prowess';

import { runVectors, summary } from '../../web/tests/vectors.mjs';
import { newFolder, place, skill, write } from './place.mjs';

const conformance = new URL('../../../conformance/', import.meta.url);
const load = async (path) => {
  const text = await readFile(new URL(path, conformance), 'utf8');
  return path.endsWith('.json') ? JSON.parse(text) : text;
};

function report(context, { cases, leftOut, lines }) {
  for (const line of lines) context.diagnostic(line);
  context.diagnostic(`${cases} vectors; ${leftOut.length} left out`);
  for (const line of leftOut) context.diagnostic(`left out: ${line}`);
}

test('every vector holds over skills in memory', async (context) => {
  const result = summary(await runVectors(prowess, load));
  report(context, result);
  assert.deepEqual(result.faults, []);
  assert.deepEqual([result.cases, result.leftOut.length], [880, 6]);
});

test('every vector of sessions holds over skills in folders', async (context) => {
  const groups = await runVectors(prowess, load, { place });
  const result = summary(groups.filter(({ name }) => name.startsWith('session/')));
  report(context, result);
  assert.deepEqual(result.faults, []);
  assert.deepEqual([result.cases, result.leftOut.length], [84, 3]);
});

test('discovery finds what the vectors say', async (context) => {
  const { cases } = await load('discover.json');
  const needsScan = ({ options = {} }) => Object.keys(options).some((name) => name !== 'profile');
  const run = cases.filter((one) => !needsScan(one));
  context.diagnostic(`discover: ${run.length}; left out, with options of a walk: ${cases.length - run.length}`);
  for (const { id, files, links = {}, root = '', options, offered, broken = {} } of run) {
    const texts = Object.entries(files).map(([name, text]) => [name, text.replace(/^<(.*)>$/s, (_, of) => skill(of))]);
    const folder = write(newFolder(), Object.fromEntries(texts));
    for (const [name, target] of Object.entries(links)) symlinkSync(target, path.join(folder, name));
    const skills = await prowess.Skills.open(path.join(folder, root), { ...options });
    const pathOf = ({ location }) => path.relative(path.join(folder, root), path.dirname(location));
    const paths = (list) => list.map(pathOf).sort();
    assert.deepEqual(paths(skills.list().filter(({ obstacle }) => obstacle === null)), [...offered].sort(), id);
    const refused = skills.all().filter(({ obstacle }) => obstacle === 'broken');
    assert.deepEqual(paths(refused), Object.keys(broken).sort(), id);
    for (const one of refused) {
      const errors = one.problems.filter(({ severity }) => severity === 'error').map(({ code }) => code);
      assert.deepEqual([...new Set(errors)].sort(), broken[pathOf(one)], `${id}: ${pathOf(one)}`);
    }
  }
  assert.deepEqual([run.length, cases.length - run.length], [7, 3]);
});

test('the folders of the reference are loaded and refused as the vectors say', async () => {
  const codes = { 'no-skill': 'missing', missing: 'missing', 'not-a-folder': 'not-a-file' };
  const { folders } = await load('skills-ref/official.json');
  assert.equal(folders.length, 6);
  for (const { id, tree, call, path: at, expect } of folders) {
    const folder = newFolder();
    for (const name of Object.keys(tree).filter((one) => one.endsWith('/'))) mkdirSync(path.join(folder, name));
    write(folder, Object.fromEntries(Object.entries(tree).filter(([, text]) => text !== null)));
    const work = async () => {
      if (call === 'load') return [await prowess.loadFolder(path.join(folder, at))];
      return (await prowess.Skills.open({ dir: path.join(folder, at) })).list();
    };
    const found = await work().then((skills) => ({ descriptions: skills.map(({ description }) => description) }), (error) => ({ error: error.code }));
    assert.deepEqual(found, expect.error === undefined ? expect : { error: codes[expect.error] }, id);
  }
});
