// The package as a program uses it, in Node.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as prowess from '../dist/index.js';
import { defineApiTests } from './api-cases.mjs';

test('nothing works before the engine is loaded, and the error says what to do', () => {
  assert.throws(() => prowess.parse(''), { name: 'ProwessError', code: 'not-ready', message: /await/ });
  assert.equal(prowess.isReady(), false);
});

await test('the engine loads', () => prowess.init());

defineApiTests(prowess);
