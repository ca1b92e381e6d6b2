// The errors of Prowess: each has a stable `code`, a message, and sometimes `problems`, a `hint` or a `cause`.

/** The class of every error that Prowess throws. */
export class ProwessError extends Error {
  constructor(message, { code = 'failed', problems = [], hint = null, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.problems = problems;
    this.hint = hint;
  }
}

/** An argument of the wrong type, an unknown option, or a text that cannot be used. */
export class InvalidArgumentError extends ProwessError {
  constructor(message, options = {}) {
    super(message, { code: 'invalid', ...options });
  }
}

/** A skill does not load; `problems` has every reason. */
export class LoadError extends ProwessError {}

/** A source could not list its skills, or a file of a skill could not be read. */
export class SourceError extends ProwessError {}

/** A selector or an embedder failed. */
export class SelectError extends ProwessError {}

/** Two skills have one key, and duplicates are errors. */
export class DuplicateSkillError extends ProwessError {}

/** A stored state cannot be restored. */
export class RestoreError extends ProwessError {}

/** The configuration or the approvals of the user cannot be read. */
export class ConfigError extends ProwessError {}

/** The folders cannot be watched. */
export class WatchError extends ProwessError {}

/** The skills or the chat were closed before. */
export class ClosedError extends ProwessError {}

/** A callback uses the skills that it serves in a way that would never end. */
export class BusyError extends ProwessError {
  constructor(message, options = {}) {
    super(message, { code: 'busy', ...options });
  }
}

const CLASSES = {
  'invalid': InvalidArgumentError,
  load: LoadError,
  source: SourceError,
  'not-found': SourceError,
  missing: SourceError,
  outside: SourceError,
  'not-a-file': SourceError,
  'too-large': SourceError,
  broken: SourceError,
  'not-as-listed': SourceError,
  config: ConfigError,
  watch: WatchError,
  select: SelectError,
  'duplicate': DuplicateSkillError,
  restore: RestoreError,
  closed: ClosedError,
  busy: BusyError,
};

/** The text of anything that a callback threw, also of what has none. */
export function messageOf(thrown) {
  try {
    const message = thrown?.message;
    return typeof message === 'string' ? message : String(thrown);
  } catch {
    return `a thrown ${typeof thrown}`;
  }
}

/** Tells a host what failed. What that throws changes nothing. */
export function report(onError, ...told) {
  try {
    Promise.resolve(onError?.(...told)).catch(() => {});
  } catch {
    // A report is not part of the work.
  }
}

/** The numbers of the sources in JavaScript that errors come from. */
const hosts = new WeakMap();

/** The number of the source in JavaScript that an error comes from. */
export const hostOf = (error) => hosts.get(error);

/** The error of what the engine threw. */
export function fromEngine(thrown) {
  if (thrown instanceof ProwessError) return thrown;
  const text = typeof thrown === 'string' ? thrown : messageOf(thrown);
  try {
    const { code, message, problems, hint, host } = JSON.parse(text);
    if (typeof code === 'string' && typeof message === 'string') {
      const Class = CLASSES[code] ?? ProwessError;
      const error = new Class(message, { code, problems: problems ?? [], hint: hint ?? null });
      if (typeof host === 'number') hosts.set(error, host);
      return error;
    }
  } catch {
    // Not a failure of the engine: it is passed on below.
  }
  return new ProwessError(`the engine failed: ${text}`, { code: 'failed', cause: thrown });
}
