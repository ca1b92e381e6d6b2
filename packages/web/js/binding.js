// The engine as WebAssembly: loads it once, and turns its failures into errors.

import start, * as wasm from './engine.js';
import { fromEngine, ProwessError } from './errors.js';
import { NO_BYTES, toJson } from './values.js';

let ready;
let started = false;

/** Whether the engine is loaded. */
export function isReady() {
  return started;
}

/**
 * Loads the engine. Without a source it is fetched from beside this file; edge runtimes and bundlers pass the bytes, a
 * response or a compiled module.
 */
export function init(source) {
  ready ??= Promise.resolve(source ?? beside())
    .then((module) => start({ module_or_path: module }))
    .then(
      () => {
        started = true;
      },
      (cause) => {
        ready = undefined;
        throw new ProwessError(`the engine could not be loaded: ${cause?.message ?? cause}`, { code: 'not-ready', cause });
      },
    );
  return ready;
}

/** Loads the engine from its bytes or its compiled module, at once. */
export function initSync(source) {
  if (!started) {
    wasm.initSync({ module: source });
    started = true;
    ready = Promise.resolve();
  }
}

async function beside() {
  const url = new URL('engine_bg.wasm', import.meta.url);
  if (url.protocol !== 'file:' || typeof process === 'undefined') return url;
  // Node reads no file through fetch.
  const { readFile } = await import('node:fs/promises');
  return readFile(url);
}

/** The handles of the engine. */
export function engine() {
  if (!started) {
    throw new ProwessError('the engine is not loaded yet; call init() and await it first', { code: 'not-ready' });
  }
  return wasm;
}

/** Runs an operation without state. */
export function call(operation, input, bytes = NO_BYTES) {
  const { run } = engine();
  return guarded(() => JSON.parse(run(operation, toJson(input), bytes)));
}

/** Runs work of the engine; what it throws becomes an error of the right class. */
export function guarded(work) {
  try {
    return work();
  } catch (thrown) {
    throw fromEngine(thrown);
  }
}
