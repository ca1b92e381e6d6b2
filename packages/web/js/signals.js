// Signals that end calls: whether one is usable, and what waits until it aborts.

import { InvalidArgumentError } from './errors.js';
import { needOptions, typeOf } from './values.js';

/** A signal that is checked before work starts: it must be an AbortSignal, and one that is aborted throws its reason. */
export function needSignal(signal) {
  if (signal === undefined || signal === null) return undefined;
  if (typeof signal !== 'object' || typeof signal.addEventListener !== 'function' || typeof signal.aborted !== 'boolean') {
    throw new InvalidArgumentError(`the signal must be an AbortSignal, not ${typeOf(signal)}`);
  }
  if (signal.aborted) throw signal.reason;
  return signal;
}

/** The options of a call that a signal may end. */
export function abortable(options) {
  const given = needOptions(options);
  return { ...given, signal: needSignal(given.signal) };
}

/**
 * A promise that rejects when the signal aborts, so that a callback that never settles does not hold the caller. What it
 * no longer waits for may still reject; `stop` is called so that it can end.
 */
export function aborted(value, signal, stop) {
  if (signal === undefined || signal === null) return value;
  const settled = Promise.resolve(value);
  settled.catch(() => {});
  const { promise, reject } = withReject();
  const abort = () => {
    stop?.();
    reject(signal.reason);
  };
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return Promise.race([promise, settled]).finally(() => signal.removeEventListener('abort', abort));
}

function withReject() {
  let reject;
  const promise = new Promise((_, no) => {
    reject = no;
  });
  return { promise, reject };
}

/** What a list or a generator has. A signal ends it, also while it waits for the next one. */
export async function collected(items, signal) {
  const given = await aborted(items, signal);
  const iterator = typeof given === 'object' ? (given?.[Symbol.asyncIterator]?.() ?? given?.[Symbol.iterator]?.()) : undefined;
  if (iterator === undefined) throw new TypeError(`this is not a list: ${typeOf(given)}`);
  const found = [];
  for (;;) {
    let next;
    try {
      next = await aborted(iterator.next(), signal);
      if (next.done) return found;
      found.push(await aborted(next.value, signal));
    } catch (error) {
      // A generator that waits ends when it goes on, which may be never.
      if (signal?.aborted) Promise.resolve(iterator.return?.()).catch(() => {});
      throw error;
    }
  }
}
