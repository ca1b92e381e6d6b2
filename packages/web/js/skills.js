// The skills of some sources, ready for any number of chats.

import { embedded, narrowed, NARROWING } from './api.js';
import { guarded } from './binding.js';
import { asError, Chat, checkedHits } from './chat.js';
import { BusyError, ClosedError, InvalidArgumentError, messageOf, report, SelectError, SourceError } from './errors.js';
import { Nesting } from './nesting.js';
import { Session } from './session.js';
import { Shelf, SHELF_OPTIONS } from './shelf.js';
import { abortable, aborted, needSignal } from './signals.js';
import { forHost } from './sources.js';
import { needCount, needFunction, needList, needOptions, needString, toJson, toText, typeOf } from './values.js';

const OPTIONS = [
  ...SHELF_OPTIONS, 'policy', 'options', 'prompt', 'selector', 'embed', 'approve', 'run', 'onError', 'signal',
];
/** How many vectors of texts that are gone may be kept, beside as many as there are skills. */
const KEPT = 16;
const SEARCH = [...NARROWING, 'tags', 'filter', 'signal'];
const SELECTORS = ['bm25', 'keyword', 'tags', 'all', 'embedding', 'fused'];

/** The skills of some sources. */
export class Skills {
  #shelf;
  #options;
  #closed = false;
  /** What ends the work that is under way. */
  #endings = new Set();
  #vectors = new Map();
  #nesting = new Nesting();
  #host;

  /** Use `Skills.open`, which reads the sources. */
  constructor(token, shelf, options) {
    if (token !== OPENING) throw new InvalidArgumentError('Skills is not constructed; await Skills.open(sources)');
    this.#shelf = shelf;
    this.#options = options;
    this.#host = {
      library: () => this.#open(),
      perform: (effect, signal) => this.#working(named(effect), () => this.#perform(effect, signal)),
      search: (...asked) => this.#working('search', () => this.#search(...asked)),
      report: (error, effect) => report(this.#options.onError, error, effect),
      refuse: (what) => this.#nesting.refuse(what),
    };
  }

  /** Reads the sources. The first of two skills with one key is offered, unless `duplicates` says otherwise. */
  static async open(sources, options) {
    const given = needOptions(options);
    const unknown = Object.keys(given).find((name) => !OPTIONS.includes(name));
    if (unknown !== undefined) {
      throw new InvalidArgumentError(`there is no such option: ${unknown}; the options are ${OPTIONS.join(', ')}`);
    }
    for (const name of ['embed', 'approve', 'run', 'onError']) {
      if (given[name] !== undefined) needFunction(given[name], name);
    }
    checkSelector(given);
    needSignal(given.signal);
    const shelf = new Shelf(sources, given);
    const skills = new this(OPENING, shelf, { ...given, prompt: needOptions(given.prompt, 'prompt') });
    await shelf.refresh(given.signal ?? undefined);
    return skills;
  }

  #open() {
    if (this.#closed) throw new ClosedError('these skills are closed', { code: 'closed' });
    return this.#shelf.snapshot;
  }

  /** The result of work, unless the skills are closed before. */
  #whileOpen(work) {
    return new Promise((resolve, reject) => {
      this.#endings.add(reject);
      work.then(resolve, reject).finally(() => this.#endings.delete(reject));
    });
  }

  /** The result of work that may call what the host wrote. Without such, no call is inside another. */
  #working(name, work) {
    const { selector, embed, approve, run } = this.#options;
    const calls = this.#shelf.callsHost || [selector, embed, approve, run].some((given) => given !== undefined);
    return this.#whileOpen(calls ? this.#nesting.run(name, work) : work());
  }

  #list(operation, input) {
    const library = this.#open();
    return guarded(() => JSON.parse(library.run(operation, toJson(input))));
  }

  /** Reads every source again: what changed. After an error the old skills stay. */
  async refresh(options) {
    const { signal } = abortable(options);
    this.#open();
    this.#nesting.refuse('refresh');
    const delta = await this.#working('refresh', () => this.#shelf.refresh(signal));
    return delta ?? { added: this.keys(), changed: [], removed: [], newlyBroken: [] };
  }

  /** The changes of the sources as they happen: each is read before it is returned. */
  watch(options) {
    const { signal } = abortable(options);
    this.#open();
    if (this.#shelf.watch === undefined) {
      throw new InvalidArgumentError('these sources cannot be watched; call refresh()');
    }
    return this.#shelf.watch({ signal });
  }

  /** What could not be read at the last refresh. */
  get problems() {
    return [...this.#shelf.problems];
  }

  /** The skills that are offered, sorted by key. */
  list() {
    return this.#list('list');
  }

  /** Every skill that was found, with `offered` and `whyNot`. */
  all() {
    return this.#list('all');
  }

  /** The keys of the skills that are offered. */
  keys() {
    return this.#list('keys');
  }

  /** The skill with this key, or undefined. */
  get(key) {
    return this.#list('get', needString(key, 'the key')) ?? undefined;
  }

  /** Whether a skill with this key is offered. */
  has(key) {
    return this.get(key) !== undefined;
  }

  /** How many skills are offered. */
  get size() {
    return this.#list('size');
  }

  [Symbol.iterator]() {
    return this.list()[Symbol.iterator]();
  }

  /** The files of a skill. */
  async files(key, options) {
    const { signal } = abortable(options);
    const skill = this.#need(key);
    const listing = this.#working(named({ kind: 'files', key }), () => this.#shelf.files(skill, signal));
    return forHost(listing, `the files of ${key} could not be listed`, signal);
  }

  /** The bytes of a file of a skill, or of a part of it: `limit` bytes from `offset` on. */
  async read(key, path = 'SKILL.md', options) {
    const { signal, offset, limit } = abortable(options);
    const part = { offset: needCount(offset, 'the offset'), limit: needCount(limit, 'the limit') };
    const skill = this.#need(key);
    needString(path, 'the path');
    const reading = this.#working(named({ kind: 'read', key, path }), () => this.#shelf.read(skill, path, part, signal));
    return (await forHost(reading, `the file ${path} of ${key} could not be read`, signal)).bytes;
  }

  /** The text of a file of a skill. */
  async readText(key, path = 'SKILL.md', options) {
    return toText(await this.read(key, path, options));
  }

  #need(key) {
    const skill = this.get(key);
    if (skill === undefined) throw new SourceError(`there is no skill ${key}`, { code: 'not-found' });
    return skill;
  }

  /** The skills that fit a task, the best first, among those that a model may see. */
  async search(query, options) {
    const { signal, ...others } = abortable(options);
    const [narrowing, { tags = [], filter, ...unknown }] = narrowed(others);
    const [name] = Object.keys(unknown);
    if (name !== undefined) {
      throw new InvalidArgumentError(`a search has no such option: ${name}; the options are ${SEARCH.join(', ')}`);
    }
    needString(query, 'the query');
    const asked = { query, tags: needList(tags, 'the tags') };
    const chat = this.chat('search');
    let among;
    try {
      if (filter !== undefined && filter !== null) chat.setFilter(filter);
      among = chat.session.run('visibleKeys', 'model');
    } finally {
      chat.close();
    }
    return this.#working('search', () => this.#search(asked, among, narrowing, signal));
  }

  async #search({ query, tags }, visible, narrowing, signal) {
    const { availableTools } = narrowing;
    const among = availableTools === undefined ? visible : this.#list('equipped', { among: visible, availableTools });
    const { selector = this.#options.embed === undefined ? 'bm25' : 'fused', embed } = this.#options;
    const limit = narrowing.topK === undefined ? 5 : (narrowing.topK ?? among.length);
    if (typeof selector !== 'string') {
      const known = new Set(among);
      const skills = this.list().filter(({ key }) => known.has(key));
      let hits;
      try {
        const select = typeof selector === 'function' ? selector : selector.select.bind(selector);
        hits = checkedHits(await aborted(select(query, skills, { limit, tags, signal }), signal));
      } catch (cause) {
        if (signal?.aborted) throw signal.reason;
        if (cause instanceof BusyError || cause instanceof SelectError) throw cause;
        throw new SelectError(`the selector failed: ${messageOf(cause)}`, { code: 'select', cause });
      }
      const { minScore = Number.NEGATIVE_INFINITY } = narrowing;
      // Each key once: taken out of `known` at its first place.
      return hits.filter((hit) => hit.score >= minScore && known.delete(hit.key)).slice(0, limit);
    }
    const wanted = { query, tags, selector, narrowing: { ...narrowing, topK: limit } };
    if (query.trim() !== '' && (selector === 'embedding' || selector === 'fused')) {
      wanted.vectors = await this.#embedded(among, query, embed, signal);
    } else if (selector === 'embedding' || selector === 'fused') {
      return [];
    }
    this.#open();
    return aborted(this.#shelf.search(among, wanted, signal), signal);
  }

  /** The vectors of skills and a query. Those of the skills are kept, as long as there are such skills. */
  async #embedded(among, query, embed, signal) {
    const own = this.#list('embeddedTexts', among);
    const { texts, vectors, made } = await aborted(embedded([...own, query], embed, this.#vectors), signal);
    for (const text of own) if (made.has(text)) this.#vectors.set(text, made.get(text));
    if (this.#vectors.size > 2 * this.size + KEPT) {
      const there = new Set(this.#list('embeddedTexts', this.keys()));
      for (const text of this.#vectors.keys()) if (!there.has(text)) this.#vectors.delete(text);
    }
    return { texts, vectors };
  }

  /** Starts a chat. The id distinguishes it from other chats. Its first call activates the preloaded skills. */
  chat(id = 'chat', settings) {
    const { prompt, wire } = this.#settings(settings);
    const library = this.#open();
    const handle = guarded(() => library.session(needString(id, 'the id'), wire));
    return new Chat(this, new Session(handle, () => this.#open()), this.#host, { prompt, preloads: true });
  }

  /** Restores a chat from its state. Skills that no longer exist are no longer active. */
  restore(state, settings) {
    const { prompt, wire } = this.#settings(settings);
    const library = this.#open();
    const text = typeof state === 'string' ? state : toJson(needOptions(state, 'the state'));
    const handle = guarded(() => library.restore(text, wire));
    return new Chat(this, new Session(handle, () => this.#open()), this.#host, { prompt });
  }

  #settings(given) {
    const { policy, options, prompt, ...others } = needOptions(given, 'the settings of a chat');
    const unknown = Object.keys(others)[0];
    if (unknown !== undefined) {
      throw new InvalidArgumentError(`a chat has no such setting: ${unknown}; the settings are policy, options and prompt`);
    }
    const { policy: usualPolicy, options: usualOptions, prompt: usualPrompt } = this.#options;
    return {
      prompt: { ...usualPrompt, ...needOptions(prompt, 'prompt') },
      wire: toJson({ policy: joined(usualPolicy, policy), options: joined(usualOptions, options) }),
    };
  }

  /** Ends the use of these skills. What is under way fails with a `ClosedError`. */
  close() {
    this.#closed = true;
    this.#shelf.close();
    for (const end of this.#endings) end(new ClosedError('these skills are closed', { code: 'closed' }));
  }

  /** The skill that an effect is about, if it is still where the session saw it. */
  #at({ key, location }) {
    const skill = this.get(key);
    if (skill?.location === location) return skill;
    throw new SourceError(`${key} is no longer at ${location}`, { code: 'missing' });
  }

  async #perform(effect, signal) {
    switch (effect.kind) {
      case 'files':
        return { files: await this.#shelf.files(this.#at(effect), signal) };
      case 'read':
        return { read: await this.#shelf.read(this.#at(effect), effect.path, effect, signal) };
      case 'search': {
        const { text, tags } = effect.query;
        return { hits: await this.#search({ query: text, tags }, effect.among, { topK: effect.limit }, signal) };
      }
      case 'approve': {
        const skill = this.#at(effect);
        const { approve } = this.#options;
        if (approve === undefined) return 'declined';
        // The digest comes first, so that what is approved is what was there when the user was asked.
        const digest = await this.#shelf.digest(skill, signal);
        return (await approve(skill, digest)) === true ? { approved: digest } : 'declined';
      }
      case 'run': {
        const skill = this.#at(effect);
        const { run } = this.#options;
        if (run === undefined) throw asError('the host runs no scripts', 'the script');
        const { path, args, expectDigest } = effect;
        const { code = null, output = '' } = needOptions(
          await run(skill, path, args, { signal, expectDigest }),
          'the result of run',
        );
        return { ran: { code, output: needString(output, 'the output of a script') } };
      }
      default:
        throw asError(`this host does not know ${effect.kind}`, 'an effect');
    }
  }
}

/** The name of what is done with a skill: equal ones are equal calls. */
const named = ({ kind, key = '', path = '' }) => `${kind} ${key} ${path}`.trim();

/** Settings over the usual ones; undefined when there are neither, so that those of the library count. */
function joined(usual, given) {
  return usual === undefined && given === undefined ? undefined : { ...usual, ...needOptions(given) };
}

const OPENING = Symbol('opening');

function checkSelector({ selector, embed }) {
  if (selector === undefined) return;
  if (typeof selector === 'string') {
    if (!SELECTORS.includes(selector)) {
      throw new InvalidArgumentError(`there is no such selector: ${selector}; the selectors are ${SELECTORS.join(', ')}`);
    }
    if ((selector === 'embedding' || selector === 'fused') && embed === undefined) {
      throw new InvalidArgumentError(`the selector ${selector} needs the option embed`);
    }
  } else if (typeof selector !== 'function' && typeof selector?.select !== 'function') {
    throw new InvalidArgumentError(`a selector must be a name, a function or an object with select, not ${typeOf(selector)}`);
  }
}
