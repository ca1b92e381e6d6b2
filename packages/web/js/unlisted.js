// Sources that cannot be listed: the others are offered, and each is said once until it can be listed again.

import { BusyError, InvalidArgumentError, report } from './errors.js';
import { listed } from './sources.js';
import { typeOf } from './values.js';

const SOURCE_ERRORS = ['report', 'fail'];

/** What happens when a source cannot be listed: the option `sourceErrors`. */
export function needSourceErrors(given = 'report') {
  if (SOURCE_ERRORS.includes(given)) return given;
  const shown = typeof given === 'string' ? given : typeOf(given);
  throw new InvalidArgumentError(`sourceErrors must be ${SOURCE_ERRORS.join(' or ')}, not ${shown}`);
}

/** The skills that a source lists; none if it cannot, and `failed` then has its error. */
export async function listedIfPossible(layer, sourceErrors, failed, signal) {
  try {
    return await listed(layer, signal);
  } catch (error) {
    // An operation that ended, or a source that uses its skills, did not fail to list.
    if (sourceErrors === 'fail' || signal?.aborted || error instanceof BusyError) throw error;
    failed.set(layer, error);
    return [];
  }
}

/** Says which sources cannot be listed: to the host, or as a warning. */
export class Sayings {
  #onError;
  #said = new Set();

  constructor(onError) {
    this.#onError = onError;
  }

  /** Says the errors that were not there before. */
  say(errors) {
    const fresh = errors.filter(({ message }) => !this.#said.has(message));
    this.#said = new Set(errors.map(({ message }) => message));
    for (const error of fresh) {
      if (this.#onError === undefined) warn(`skills are left out: ${error.message}`);
      else report(this.#onError, error, { kind: 'list' });
    }
  }
}

/** A warning of the process, or of the console where there is none. */
export function warn(message) {
  const { process, console } = globalThis;
  if (typeof process?.emitWarning === 'function') process.emitWarning(message, { type: 'SkillWarning' });
  else console.warn(message);
}
