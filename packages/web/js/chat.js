// A chat: the skills as one conversation with a model sees them. It performs the effects of its session.

import { guarded } from './binding.js';
import { ClosedError, InvalidArgumentError, ProwessError, SelectError } from './errors.js';
import { abortable, aborted } from './signals.js';
import { failureOf } from './sources.js';
import { needList, needOptions, needString, NO_BYTES, owned, toBytes, toJson } from './values.js';

/** A session without input and output: each step says what it needs, and `resume` continues it. */
export class Session {
  #handle;

  constructor(handle) {
    if (handle === undefined) throw new InvalidArgumentError('Session is not constructed; chat.session is one');
    this.#handle = handle;
  }

  /** Runs an operation of the session. For the classes of this package. */
  run(operation, input, bytes = NO_BYTES) {
    if (this.#handle === undefined) throw new ClosedError('this chat is closed', { code: 'closed' });
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

/** One conversation with a model. */
export class Chat {
  #skills;
  #session;
  #host;
  #settings;
  #library;

  /** Use `skills.chat`. */
  constructor(skills, session, host, settings) {
    if (typeof host?.library !== 'function') throw new InvalidArgumentError('Chat is not constructed; call skills.chat()');
    this.#skills = skills;
    this.#session = session;
    this.#host = host;
    this.#settings = settings;
    this.#library = host.library();
  }

  /** The skills that the chat is about. */
  get skills() {
    return this.#skills;
  }

  /** The session below the chat, for hosts that perform effects themselves. */
  get session() {
    return this.#session;
  }

  /** The session with the skills of the last refresh. */
  #current() {
    const library = this.#host.library();
    if (library !== this.#library && this.#session.handle !== undefined) {
      guarded(() => library.update(this.#session.handle));
      this.#library = library;
    }
    return this.#session;
  }

  /** The text for the system prompt; empty when there is no skill. */
  async prompt(options) {
    return (await this.promptWith(options)).text;
  }

  /** The text for the system prompt with the skills that fit a task. */
  async promptFor(query, options) {
    return this.prompt({ ...needOptions(options), query: needString(query, 'the query') });
  }

  /** The same with a report: the skills in it, its tokens, and what was cut. */
  async promptWith(options) {
    const { signal, query, narrowing, budget, ...others } = abortable(options);
    if (query !== undefined) needString(query, 'the query');
    const session = this.#current();
    const { style, budget: usual, narrowing: narrowingUsual } = this.#settings.prompt;
    const asked = { style, ...others, budget: budget === undefined ? usual : (budget ?? 'unlimited') };
    if (query === undefined) return session.run('prompt', asked);
    const wanted = { ...narrowingUsual, ...needOptions(narrowing, 'narrowing') };
    const found = { hits: [] };
    if (query.trim() !== '') {
      const among = session.run('visibleKeys', 'model');
      try {
        found.hits = await this.#host.search({ query, tags: [] }, among, wanted.topK ?? among.length, signal);
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        if (wanted.onError === 'fail') throw error;
        this.#host.report(error);
        found.failed = error.message;
      }
    }
    return session.run('prompt', { ...asked, query, narrowing: wanted, ...found });
  }

  /** The tools in the form of a model interface: `mcp`, `anthropic`, `openai` or `gemini`. */
  tools(dialect = 'mcp') {
    return this.#current().run('tools', needString(dialect, 'the dialect'));
  }

  /** The tools as plain definitions, for other interfaces. */
  toolDefinitions() {
    return this.#current().run('toolDefinitions');
  }

  /** Whether a tool of this name belongs to the chat. */
  owns(tool) {
    return this.#session.run('owns', needString(tool, 'the tool'));
  }

  /** Answers a call in the form of a model interface; null when it is not ours. */
  async answer(dialect, message, options) {
    const given = abortable(options);
    const [call] = this.#current().run('calls', { dialect: needString(dialect, 'the dialect'), message });
    return call === undefined ? null : this.#answered(dialect, call, given);
  }

  /** Answers every call of ours in a response of a model, in order. */
  async answerAll(dialect, response, options) {
    const given = abortable(options);
    const calls = this.#current().run('calls', { dialect: needString(dialect, 'the dialect'), message: response });
    const answers = [];
    for (const call of calls) answers.push(await this.#answered(dialect, call, given));
    return answers;
  }

  async #answered(dialect, { id, call }, options) {
    const result = await this.call(call.tool, call.arguments ?? {}, options);
    return this.#session.run('result', { dialect, id, tool: call.tool, result });
  }

  /** Answers a tool call: `{ok, text, data, reason}`. */
  async call(tool, args = {}, options) {
    const { signal, filter } = abortable(options);
    needString(tool, 'the tool');
    return this.#finish(this.#current().run('call', { tool, arguments: args, filter }), signal);
  }

  /** Activates the skills that a message of the user names, with `/name arguments` or `$name`. */
  async userMessage(message, options) {
    const { signal } = abortable(options);
    const results = [];
    for (const step of this.#current().run('invoke', needString(message, 'the message'))) {
      results.push(await this.#finish(step, signal));
    }
    return results;
  }

  /** Activates a skill for the host or the user. */
  async activate(name, options) {
    const { signal, by = 'host', arguments: args, filter } = abortable(options);
    const step = this.#current().run('activate', { name: needString(name, 'the name'), by, arguments: args, filter });
    return this.#finish(step, signal);
  }

  /** Activates the skills that are active from the start, and those named here. */
  async preload(names = [], options) {
    const { signal } = abortable(options);
    const results = [];
    for (const { name, step } of this.#current().run('preload', names)) {
      results.push({ name, result: await this.#finish(step, signal) });
    }
    return results;
  }

  /** Continues the calls that a restored chat waits for. */
  async resumePending(options) {
    const { signal } = abortable(options);
    const results = [];
    for (const step of this.#current().pending()) results.push(await this.#finish(step, signal));
    return results;
  }

  /** Deactivates a skill: the tools that are no longer granted, or null when it was not active. */
  deactivate(name) {
    return this.#current().run('deactivate', needString(name, 'the name'));
  }

  /** Ends a turn: the skills whose lifetime is over. */
  endTurn() {
    return this.#current().run('endTurn');
  }

  /** Sets the filter: the skills that it deactivated. */
  setFilter(filter) {
    return this.#current().run('setFilter', needString(filter, 'the filter'));
  }

  /** Sets the policy: the skills that it deactivated. */
  setPolicy(policy) {
    return this.#current().run('setPolicy', needOptions(policy, 'the policy'));
  }

  /** The keys of the active skills, sorted. */
  get active() {
    return this.#current().run('active').skills;
  }

  /** The tools that the active skills grant, such as `Bash(git:*)`. */
  get activeTools() {
    return this.#current().run('active').tools;
  }

  /** The active skills that changed since they were activated. */
  get changed() {
    return this.#current().run('changed');
  }

  /** The skills that the model, the user or the host may see. */
  visible(by = 'model') {
    return this.#current().run('visible', by);
  }

  /** Why an actor does not see a skill; null when it does. For the host, never for a model. */
  whyHidden(key, by = 'model') {
    return this.#current().run('whyHidden', { key: needString(key, 'the key'), by });
  }

  /** The tools of the host that a model may use now. */
  scopeTools(tools) {
    return this.#current().run('scopeTools', needList(tools, 'the tools'));
  }

  /** The texts of the active skills, for a context that was compacted. */
  reinject(options) {
    return this.#current().run('reinject', needOptions(options));
  }

  /** The events so far. */
  get log() {
    return this.#session.run('log');
  }

  /** The state, to be stored as JSON and given to `skills.restore`. */
  get state() {
    return this.#session.state();
  }

  /** Ends the chat and frees its memory. */
  close() {
    this.#session.close();
  }

  /** Performs the effects of a step until the call is done. */
  async #finish(step, signal) {
    let next = step;
    while (next.done === undefined) {
      const { ticket, effect } = next;
      let outcome;
      try {
        outcome = await aborted(this.#host.perform(effect, signal), signal);
      } catch (error) {
        if (signal?.aborted) {
          this.#cancel(ticket);
          throw signal.reason;
        }
        this.#report(error, effect, ticket);
        outcome = { failed: failureOf(error, 'failed') };
      }
      next = this.#resumed(ticket, outcome, effect);
    }
    return next.done;
  }

  #resumed(ticket, outcome, effect) {
    // The catalog may be newer than the effect; the session asks its policy again.
    const session = this.#current();
    try {
      return session.resume(ticket, outcome);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      this.#report(error, effect, ticket);
      return session.resume(ticket, { failed: 'failed' });
    }
  }

  /** Reports what a callback threw. If that throws too, the call ends. */
  #report(error, effect, ticket) {
    try {
      this.#host.report(error, effect);
    } catch (thrown) {
      this.#cancel(ticket);
      throw thrown;
    }
  }

  /** Ends a call that waits, unless the chat was closed. */
  #cancel(ticket) {
    if (this.#session.handle !== undefined) this.#session.cancel(ticket);
  }
}

/** The hits of a selector of the host, checked. */
export function checkedHits(hits) {
  if (hits === null || typeof hits !== 'object' || typeof hits[Symbol.iterator] !== 'function') {
    throw new SelectError('the selector returned no list of hits', { code: 'select' });
  }
  const checked = [...hits].map((hit) => {
    const { key, score = 0, why = [] } = typeof hit === 'string' ? { key: hit } : (hit ?? {});
    if (typeof key !== 'string' || typeof score !== 'number' || Number.isNaN(score)) {
      throw new SelectError('a hit of the selector has no key or no score', { code: 'select' });
    }
    return { key, score, why };
  });
  // The best first; of equal scores the smaller key, as every selector does.
  return checked.sort((one, other) => other.score - one.score || (one.key < other.key ? -1 : 1));
}

/** An error of a callback of the host, in the class of this package. */
export function asError(thrown, what) {
  if (thrown instanceof ProwessError) return thrown;
  return new ProwessError(`${what} failed: ${thrown?.message ?? thrown}`, { code: 'failed', cause: thrown });
}
