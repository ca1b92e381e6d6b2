// The changes of skills that a caller of `watch` has not taken yet.

/** How many changes are kept one by one. A caller that takes none gets the later ones as one. */
const MOST = 64;

/** Two changes as one. */
function merged(one, other) {
  const without = (keys, ...lists) => keys.filter((key) => !lists.some((list) => list.includes(key)));
  const all = (...lists) => [...new Set(lists.flat())].sort();
  const added = all(without(one.added, other.removed), without(other.added, one.removed));
  const removed = all(without(one.removed, other.added), without(other.removed, one.added));
  const again = one.removed.filter((key) => other.added.includes(key));
  return {
    added,
    changed: without(all(one.changed, other.changed, again), added, removed),
    removed,
    newlyBroken: all(without(one.newlyBroken, other.added, other.changed, other.removed), other.newlyBroken),
  };
}

/** The changes that one caller has not taken yet. Unlike a generator, it ends at once, also while it waits. */
export class Changes {
  #end;
  #changes = [];
  #waiting = [];
  #error;
  #ended = false;

  constructor(signal, end) {
    const abort = () => this.fail(signal.reason);
    signal?.addEventListener('abort', abort, { once: true });
    this.#end = () => {
      if (this.#ended) return;
      this.#ended = true;
      signal?.removeEventListener('abort', abort);
      end();
      this.#wake();
    };
  }

  #wake() {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  tell(delta) {
    this.#changes.push(this.#changes.length < MOST ? delta : merged(this.#changes.pop(), delta));
    this.#wake();
  }

  /** Ends with an error. */
  fail(error) {
    this.#changes = [];
    this.#error = error;
    this.#end();
  }

  async next() {
    for (;;) {
      if (this.#changes.length > 0) return { value: this.#changes.shift(), done: false };
      if (this.#error !== undefined) {
        const error = this.#error;
        this.#error = undefined;
        throw error;
      }
      if (this.#ended) return { value: undefined, done: true };
      await new Promise((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }

  async return() {
    this.#changes = [];
    this.#end();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}
