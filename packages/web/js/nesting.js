// Callbacks that use the skills that they serve: how far they may go. Without a limit, a source that reads through its own
// skills never ends.

import { AsyncLocalStorage } from './context.js';
import { BusyError } from './errors.js';

/** How many calls of the same skills may be inside one another. */
const NESTING = 4;
/** How many equal calls of the same skills may wait at once where the runtime does not say which is inside which. */
const WAITING = 1_000;

const storage = AsyncLocalStorage === undefined ? undefined : new AsyncLocalStorage();
/** Without a storage: the call that runs now, until its first wait. */
let running;

/** The innermost call of any skills that the caller is inside, and that is not done. */
function innermost() {
  let call = storage === undefined ? running : storage.getStore();
  while (call !== undefined && call.done) call = call.outer;
  return call;
}

function begin(call, work) {
  if (storage !== undefined) return storage.run(call, work);
  const before = running;
  running = call;
  try {
    return work();
  } finally {
    running = before;
  }
}

/** The calls of some skills that their callbacks may be inside. */
export class Nesting {
  /** How many equal calls wait, by their name. */
  #waiting = new Map();

  /** How many calls of these skills the caller is inside. */
  get #depth() {
    let depth = 0;
    for (let call = innermost(); call !== undefined; call = call.outer) {
      if (call.nesting === this && !call.done) depth += 1;
    }
    return depth;
  }

  /** Throws if a callback of these skills is the caller. */
  refuse(what) {
    if (this.#depth > 0) throw new BusyError(`a callback cannot ${what} the skills that it serves`);
  }

  /** Does work that calls callbacks. Equal names are equal calls. */
  async run(name, work) {
    const waiting = this.#waiting.get(name) ?? 0;
    const tooDeep = this.#depth >= NESTING;
    if (tooDeep || (storage === undefined && waiting >= WAITING)) {
      const times = tooDeep ? `${NESTING} calls of these skills are inside one another` : `${WAITING} calls of ${name} wait at once`;
      throw new BusyError(`${times}; a callback that uses the skills that it serves must end`);
    }
    const call = { nesting: this, outer: innermost(), done: false };
    this.#waiting.set(name, waiting + 1);
    try {
      return await begin(call, work);
    } finally {
      call.done = true;
      const left = this.#waiting.get(name) - 1;
      if (left === 0) this.#waiting.delete(name);
      else this.#waiting.set(name, left);
    }
  }
}
