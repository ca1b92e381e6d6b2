// The engine as an addon of Node: runs its operations, and turns its failures into errors.

import { addon } from './addon.js';
import { fromEngine } from './errors.js';
import { NO_BYTES, toJson } from './values.js';

/** The handles of the engine. */
export function engine() {
  return addon;
}

/** Runs an operation without state. */
export function call(operation, input, bytes = NO_BYTES) {
  return guarded(() => JSON.parse(addon.run(operation, toJson(input), owned(bytes))));
}

/** Runs an operation that reads files, off the main thread. */
export async function work(operation, input) {
  return JSON.parse(await settled(addon.work(operation, toJson(input))));
}

/** Bytes that no other thread changes while they are read. */
export function owned(bytes) {
  return bytes.buffer instanceof ArrayBuffer ? bytes : Uint8Array.from(bytes);
}

/** Runs work of the engine; what it throws becomes an error of the right class. */
export function guarded(work) {
  try {
    return work();
  } catch (thrown) {
    throw fromEngine(thrown);
  }
}

/** The result of work of the engine off the main thread. */
export async function settled(promise) {
  try {
    return await promise;
  } catch (thrown) {
    throw fromEngine(thrown);
  }
}
