// The engine as an addon of Node: runs its operations, and turns its failures into errors.

import { addon } from './addon.js';
import { fromEngine } from './errors.js';
import { aborted } from './signals.js';
import { NO_BYTES, owned, toJson } from './values.js';

/** For work that nothing ends. */
const NEVER = new addon.Cancel(false);

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

/** Runs work of the engine; what it throws becomes an error of the right class. */
export function guarded(work) {
  try {
    return work();
  } catch (thrown) {
    throw fromEngine(thrown);
  }
}

/** The result of work off the main thread that `start` begins. An abort ends the work, and not only the wait for it. */
export async function cancellable(start, signal) {
  const cancel = signal === undefined ? NEVER : new addon.Cancel(true);
  return aborted(settled(guarded(() => start(cancel))), signal, () => cancel.cancel());
}

/** The result of work of the engine off the main thread. */
export async function settled(promise) {
  try {
    return await promise;
  } catch (thrown) {
    throw fromEngine(thrown);
  }
}
