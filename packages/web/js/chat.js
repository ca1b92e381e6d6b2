// A chat: the skills as one conversation with a model sees them. It performs the effects of its session.

import { guarded } from './binding.js';
import { ClosedError, InvalidArgumentError, messageOf, ProwessError, SelectError } from './errors.js';
import { abortable, aborted } from './signals.js';
import { failureOf } from './sources.js';
import { needList, needOptions, needString, ofModel, toJson } from './values.js';

/** One conversation with a model. */
export class Chat {
  #skills;
  #session;
  #host;
  #settings;
  #library;
  /** Whether the preloaded skills are still to be activated, and the work that does so. */
  #preloads;
  #starting;

  /** Use `skills.chat`. */
  constructor(skills, session, host, settings) {
    if (typeof host?.library !== 'function') throw new InvalidArgumentError('Chat is not constructed; call skills.chat()');
    this.#skills = skills;
    this.#session = session;
    this.#host = host;
    this.#settings = settings;
    this.#preloads = settings.preloads === true;
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

  /** Activates the preloaded skills of a new chat, before its first call. */
  async #start(signal) {
    while (this.#preloads) {
      const own = this.#starting === undefined;
      // The preloaded skills would wait for a callback that waits for them.
      if (!own) this.#host.refuse('wait for a chat that loads');
      this.#starting ??= this.#preloaded(signal);
      try {
        await aborted(this.#starting, signal);
      } catch (error) {
        // The signal of another call ended its work, which this call then does.
        if (own || signal?.aborted) throw error;
      }
    }
    if (signal?.aborted) throw signal.reason;
  }

  async #preloaded(signal) {
    try {
      await this.preload([], { signal });
    } catch (error) {
      // An error is thrown once: it does not end the chat.
      if (!signal?.aborted) this.#preloads = false;
      throw error;
    } finally {
      this.#starting = undefined;
    }
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
    await this.#start(signal);
    const session = this.#current();
    const { style, budget: usual, narrowing: narrowingUsual } = this.#settings.prompt;
    const asked = { style, ...others, budget: budget === undefined ? usual : (budget ?? 'unlimited') };
    if (query === undefined) return session.run('prompt', asked);
    const wanted = { ...narrowingUsual, ...needOptions(narrowing, 'narrowing') };
    const found = { hits: [] };
    if (query.trim() !== '') {
      const among = session.run('visibleKeys', 'model');
      try {
        found.hits = await this.#host.search({ query, tags: [] }, among, wanted, signal);
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        if (error instanceof ClosedError || error instanceof InvalidArgumentError) throw error;
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

  /** Whether a call of this name is for the chat, and not for the host. */
  owns(tool) {
    return this.#session.run('owns', needString(tool, 'the tool'));
  }

  /** Answers a call in the form of a model interface; null when it is not ours. */
  async answer(dialect, message, options) {
    const given = abortable(options);
    await this.#start(given.signal);
    const [call] = this.#calls(dialect, message);
    return call === undefined ? null : this.#answered(dialect, call, given);
  }

  /** Answers every call of ours in a response of a model, in order. */
  async answerAll(dialect, response, options) {
    const given = abortable(options);
    await this.#start(given.signal);
    const answers = [];
    for (const call of this.#calls(dialect, response)) answers.push(await this.#answered(dialect, call, given));
    return answers;
  }

  /** The calls of ours in a message, each with the id of its result. */
  #calls(dialect, message) {
    return this.#current().run('calls', { dialect: needString(dialect, 'the dialect'), message: ofModel(message) });
  }

  async #answered(dialect, { id, call }, options) {
    const result = await this.call(call.tool, call.arguments ?? {}, options);
    return this.#session.run('result', { dialect, id, tool: call.tool, result });
  }

  /** Answers a tool call: `{ok, text, data, reason}`. */
  async call(tool, args = {}, options) {
    const { signal, filter } = abortable(options);
    needString(tool, 'the tool');
    await this.#start(signal);
    return this.#finish(this.#current().run('call', { tool, arguments: refusable(args), filter }), signal);
  }

  /** Activates the skills that a message of the user names, with `/name arguments` or `$name`. */
  async userMessage(message, options) {
    const { signal } = abortable(options);
    needString(message, 'the message');
    await this.#start(signal);
    return this.#finishAll(this.#current().run('invoke', message), signal);
  }

  /** Activates a skill for the user or the host. */
  async activate(name, options) {
    const { signal, by = 'user', arguments: args, filter } = abortable(options);
    needString(name, 'the name');
    await this.#start(signal);
    const step = this.#current().run('activate', { name, by, arguments: args, filter });
    return this.#finish(step, signal);
  }

  /** Activates the preloaded skills, and those named here. A new chat activates the former before its first call. */
  async preload(names = [], options) {
    const { signal } = abortable(options);
    const begun = this.#current().run('preload', names);
    const results = await this.#finishAll(begun.map(({ step }) => step), signal);
    this.#preloads = false;
    return begun.map(({ name }, at) => ({ name, result: results[at] }));
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

  /** The results of several steps, one after the other. If one fails, the others wait no longer. */
  async #finishAll(steps, signal) {
    const results = [];
    try {
      for (const step of steps) results.push(await this.#finish(step, signal));
    } catch (error) {
      for (const { ticket } of steps.slice(results.length + 1)) if (ticket !== undefined) this.#cancel(ticket);
      throw error;
    }
    return results;
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
        // Of skills that were closed meanwhile, nothing is reported.
        this.#host.library();
        this.#host.report(error, effect);
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
      this.#host.report(error, effect);
      return session.resume(ticket, { failed: 'failed' });
    }
  }

  /** Ends a call that waits, unless the chat was closed. */
  #cancel(ticket) {
    if (this.#session.handle !== undefined) this.#session.cancel(ticket);
  }
}

/** An escape in JSON. Only half of a surrogate pair is written with these digits: a pair is written as it is. */
const ESCAPE = /\\(?:u(d[89a-f])|[^])/g;

/** Arguments as a session takes them. In place of those with half of a surrogate pair, a text that the session refuses. */
function refusable(args) {
  const json = toJson(args);
  const hasHalf = /\\ud[89a-f]/.test(json) && [...json.matchAll(ESCAPE)].some(([, half]) => half !== undefined);
  return hasHalf ? 'half of a surrogate pair is no character' : args;
}

/** The hits of a selector of the host, checked, in its order. */
export function checkedHits(hits) {
  if (hits === null || typeof hits !== 'object' || typeof hits[Symbol.iterator] !== 'function') {
    throw new SelectError('the selector returned no list of hits', { code: 'select' });
  }
  return [...hits].map((hit) => {
    const { key, score = 0, why = [] } = typeof hit === 'string' ? { key: hit } : (hit ?? {});
    if (typeof key !== 'string' || !Number.isFinite(score)) {
      throw new SelectError('a hit of the selector has no key, or a score that is not a finite number', { code: 'select' });
    }
    return { key, score, why };
  });
}

/** An error of a callback of the host, in the class of this package. */
export function asError(thrown, what) {
  if (thrown instanceof ProwessError) return thrown;
  return new ProwessError(`${what} failed: ${messageOf(thrown)}`, { code: 'failed', cause: thrown });
}
