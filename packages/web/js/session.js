// A session without input and output, for hosts that perform effects themselves.

import { guarded } from './binding.js';
import { ClosedError, InvalidArgumentError } from './errors.js';
import { needOptions, needString, NO_BYTES, owned, toBytes, toJson } from './values.js';

/** A session without input and output: each step says what it needs, and `resume` continues it. */
export class Session {
  #handle;
  #check;

  /** Use `chat.session`. `check` throws when the skills are closed. */
  constructor(handle, check) {
    if (handle === undefined) throw new InvalidArgumentError('Session is not constructed; chat.session is one');
    this.#handle = handle;
    this.#check = check;
  }

  /** Runs an operation of the session. For the classes of this package. */
  run(operation, input, bytes = NO_BYTES) {
    if (this.#handle === undefined) throw new ClosedError('this chat is closed', { code: 'closed' });
    this.#check?.();
    return guarded(() => JSON.parse(this.#handle.run(operation, toJson(input), owned(toBytes(bytes)))));
  }

  /** The handle of the engine. */
  get handle() {
    return this.#handle;
  }

  /** Begins a call of a model: `{done}` with its result, or `{ticket, effect}`. */
  call(tool, args = {}, options) {
    const { filter } = needOptions(options);
    return this.run('call', { tool: needString(tool, 'the tool'), arguments: args, filter });
  }

  /** Continues a call after its effect. */
  resume(ticket, outcome) {
    const { step, bytes } = wire(outcome);
    return this.run('resume', { ticket: needString(ticket, 'the ticket'), outcome: step }, bytes);
  }

  /** Ends a call that waits. */
  cancel(ticket) {
    return this.run('cancel', needString(ticket, 'the ticket'));
  }

  /** The calls that wait, each with its ticket and its effect. */
  pending() {
    return this.run('pending');
  }

  /** The state, to be stored. */
  state() {
    return this.run('state');
  }

  /** Frees the memory of the session. */
  close() {
    this.#handle?.free?.();
    this.#handle = undefined;
  }
}

/** An outcome as the engine takes it; the bytes of a read go beside it. */
function wire(outcome) {
  const given = typeof outcome === 'string' ? outcome : needOptions(outcome, 'the outcome');
  if (given.read === undefined) return { step: given, bytes: NO_BYTES };
  const { bytes, size, digest = null } = needOptions(given.read, 'the outcome of a read');
  const read = toBytes(bytes, 'the bytes of a read');
  return { step: { read: { size: size ?? read.byteLength, digest } }, bytes: read };
}
