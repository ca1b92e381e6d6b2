// Where the skills of a `Skills` are: places that the addon reads, and sources in JavaScript.
//
// JavaScript lists its sources and reads every SKILL.md before the addon refreshes, and reads their other files itself.
// So the addon never waits for a callback, and a callback that never settles holds no thread.

import { fileURLToPath } from 'node:url';

import { cancellable, engine, guarded, settled } from './binding.js';
import { Changes } from './changes.js';
import { ClosedError, fromEngine, hostOf, InvalidArgumentError, SourceError } from './errors.js';
import { digestOf, filesFrom, partFrom } from './reading.js';
import { aborted } from './signals.js';
import { LAYER, layerOf, layerOptions, textsOf, withOwnLabels, withTexts } from './sources.js';
import { listedIfPossible, needSourceErrors, Sayings } from './unlisted.js';
import { needOptions, needPath, needString, toJson, typeOf } from './values.js';

/** The options of `Skills.open` that are about which skills there are. */
export const SHELF_OPTIONS = ['profile', 'levels', 'duplicates', 'sourceErrors'];

/** The most bytes of one read. */
const WHOLE = Number.MAX_SAFE_INTEGER;

/** The sources, and what was read from them last. */
export class Shelf {
  #layers;
  #options;
  #native;
  #origins = new Map();
  #readings = 0;
  #filled = 0;
  #watchers = new Set();
  #watching;
  /** The refreshes that the addon is at. */
  #working = new Set();
  #closed = false;
  /** What the sources in JavaScript could not read. */
  #unread = [];
  /** What those threw that could not list their skills, by their numbers. */
  #failed = new Map();
  #sourceErrors;
  #sayings;
  snapshot;
  /** Whether there is a source that the host wrote. */
  callsHost;

  constructor(sources, options) {
    this.#layers = labelled((Array.isArray(sources) ? sources : [sources]).map(layerFrom));
    this.#options = options;
    this.#sourceErrors = needSourceErrors(options.sourceErrors);
    this.#sayings = new Sayings(options.onError);
    this.callsHost = this.#layers.some((layer) => layer.source !== undefined);
  }

  /** Reads every source again: what changed. After an error the old skills stay. */
  async refresh(signal) {
    const reading = (this.#readings += 1);
    const { skills, origins, problems, failed } = await this.#gathered(signal);
    this.#open();
    if (this.#native === undefined) {
      const count = this.#layers.filter((layer) => layer.source !== undefined).length;
      const opening = toJson(this.#opening());
      this.#failed = failed;
      const open = (cancel) => engine().openSkills(opening, count, skills, [...failed.keys()], cancel);
      this.#native = await this.#thrown(cancellable(open, signal));
      this.#open();
      this.#origins = origins;
      this.snapshot = snapshotOf(this.#native);
      this.#unread = problems;
      this.#sayings.say(this.#unlisted());
      return undefined;
    }
    // Not while a watch begins: it would report the same changes too, or later than those after them.
    await aborted(this.#watching?.begun, signal);
    this.#open();
    // A reading that began later may be done already; what it found counts.
    if (reading > this.#filled) {
      this.#filled = reading;
      guarded(() => this.#native.fill(skills, [...failed.keys()]));
      // Until the refresh is done, skills of both states are read where they are.
      this.#failed = new Map([...this.#failed, ...failed]);
      this.#origins = new Map([...this.#origins, ...origins]);
    }
    const delta = JSON.parse(await this.#refreshed(signal));
    this.#open();
    if (this.#filled === reading) {
      this.#origins = origins;
      this.#unread = problems;
      this.#failed = failed;
    }
    this.#sayings.say(this.#unlisted());
    this.#tell(delta);
    return delta;
  }

  /** Lets the addon refresh. */
  async #refreshed(signal) {
    const work = cancellable((cancel) => this.#native.work('refresh', 'null', cancel), signal);
    this.#working.add(work);
    try {
      return await this.#thrown(work);
    } finally {
      this.#working.delete(work);
    }
  }

  #open() {
    if (this.#closed) throw new ClosedError('these skills are closed', { code: 'closed' });
  }

  /** The skills of the sources in JavaScript. */
  async #gathered(signal) {
    const skills = [];
    const origins = new Map();
    const problems = [];
    const failures = new Map();
    for (const layer of this.#layers) {
      if (layer.source === undefined) continue;
      const entries = await listedIfPossible(layer, this.#sourceErrors, failures, signal);
      const texts = await textsOf(layer, entries, signal, problems);
      const read = withTexts(layer, entries, texts);
      entries.forEach(({ id, location }, at) => {
        if (texts[at] === undefined) return;
        skills.push({ host: layer.host, id, location, bytes: texts[at] });
        origins.set(location ?? `${layer.label}:${id}`, { layer: read, id });
      });
    }
    const failed = new Map([...failures].map(([{ host }, error]) => [host, error]));
    return { skills, origins, problems, failed };
  }

  #opening() {
    const { profile, levels, duplicates } = this.#options;
    const judge = profile === undefined && levels === undefined ? undefined : { profile, levels };
    const user = this.#layers.find((layer) => layer.user !== undefined)?.user;
    const sources = this.#layers.filter((layer) => layer.user === undefined).map(({ spec, host, label, options }) =>
      spec === undefined ? { host, label, ...options } : { source: spec, ...options });
    return { sources, user, judge, duplicates, sourceErrors: this.#sourceErrors };
  }

  /** What could not be read at the last refresh. */
  get problems() {
    return [...this.#read(false), ...this.#unread];
  }

  /** The errors of the sources that could not be listed at the last refresh. */
  #unlisted() {
    return this.#read(true);
  }

  /** What the addon could not read; only whole sources if `unlisted` is set. */
  #read(unlisted) {
    const read = this.#closed ? [] : guarded(() => this.#native.problems(unlisted));
    return read.map((problem) => this.#own(fromEngine(problem)));
  }

  /** The error of a source in JavaScript as it was thrown; any other error as it is. */
  #own(error) {
    return this.#failed.get(hostOf(error)) ?? error;
  }

  /** The result of work that lists the sources. */
  async #thrown(work) {
    try {
      return await work;
    } catch (error) {
      throw this.#own(error);
    }
  }

  /** The source in JavaScript of a skill and its id there; undefined for a skill that the addon reads. */
  #origin({ location }) {
    return this.#origins.get(location);
  }

  async #perform(effect, signal) {
    this.#open();
    const { json, bytes } = await cancellable((cancel) => this.#native.perform(toJson(effect), cancel), signal);
    return { ...JSON.parse(json), bytes };
  }

  async files(skill, signal) {
    const origin = this.#origin(skill);
    if (origin !== undefined) return filesFrom(origin.layer, origin.id, signal);
    return (await this.#perform({ kind: 'files', key: skill.key, location: skill.location }, signal)).files;
  }

  /** A part of a file; with `expectDigest`, the digest over all files when it was read. */
  async read(skill, path, { offset = 0, limit = WHOLE, expectDigest } = {}, signal) {
    const origin = this.#origin(skill);
    if (origin === undefined) {
      const most = Math.min(limit, WHOLE);
      const { key, location } = skill;
      return this.#perform({ kind: 'read', key, location, path, offset, limit: most, digest: expectDigest !== undefined }, signal);
    }
    return partFrom(origin, path, { offset, limit, expectDigest }, signal);
  }

  /** A digest over all files of a skill. */
  async digest(skill, signal) {
    const origin = this.#origin(skill);
    if (origin !== undefined) return (await digestOf(origin.layer, origin.id, signal)).digest;
    return (await this.#perform({ kind: 'digest', key: skill.key, location: skill.location }, signal)).digest;
  }

  /** Ranks some of the skills, off the main thread. */
  async search(among, asked, signal) {
    const input = toJson({ among, asked });
    return JSON.parse(await cancellable((cancel) => this.#native.work('rank', input, cancel), signal));
  }

  /** The changes as they happen: those that the addon sees in folders, and those of each refresh. */
  watch({ signal } = {}) {
    this.#open();
    const changes = new Changes(signal, () => {
      this.#watchers.delete(changes);
      if (this.#watchers.size === 0) this.#unwatch();
    });
    this.#watchers.add(changes);
    this.#watching ??= this.#follow();
    return changes;
  }

  /** Watches the folders until `stop`. */
  #follow() {
    const following = { stopped: false, watch: undefined, begun: undefined };
    const begin = async () => {
      await Promise.allSettled(this.#working);
      following.watch = await settled(this.#native.watch('{}'));
    };
    const begun = begin();
    // A refresh waits for it, whether it fails or not.
    following.begun = begun.catch(() => {});
    const follow = async () => {
      await begun;
      if (following.stopped) following.watch.stop();
      while (!following.stopped) {
        try {
          const delta = await this.#thrown(settled(following.watch.next()));
          if (delta === null) return;
          this.#sayings.say(this.#unlisted());
          this.#tell(JSON.parse(delta));
        } catch (error) {
          // A source that cannot be listed now may be listed later.
          if (!(error instanceof SourceError)) throw error;
          this.#sayings.say([error]);
        }
      }
    };
    follow().catch((error) => {
      if (following.stopped) return;
      this.#watching = undefined;
      for (const watcher of [...this.#watchers]) watcher.fail(error);
    });
    return following;
  }

  #unwatch() {
    if (this.#watching === undefined) return;
    this.#watching.stopped = true;
    this.#watching.watch?.stop();
    this.#watching = undefined;
  }

  #tell(delta) {
    if (Object.values(delta).every((keys) => keys.length === 0)) return;
    for (const watcher of this.#watchers) watcher.tell(delta);
  }

  close() {
    this.#closed = true;
    this.#unwatch();
    this.#native?.close();
    this.#origins = new Map();
    for (const watcher of [...this.#watchers]) {
      watcher.fail(new ClosedError('these skills are closed', { code: 'closed' }));
    }
  }
}

/** The skills of the addon as `Skills` and `Chat` use them. Sessions follow each refresh by themselves. */
function snapshotOf(native) {
  return {
    run: (operation, input) => native.run(operation, input),
    session: (id, settings) => native.session(id, settings),
    restore: (state, settings) => native.restore(state, settings),
  };
}

/** A layer: a source in JavaScript, a place that the addon reads, or the skills of the user. */
function layerFrom(given, at) {
  if (typeof given === 'string' || given instanceof URL) return { spec: specOf(given), options: {} };
  if (given !== null && typeof given === 'object' && typeof given.list !== 'function') {
    if (given.user !== undefined) return { user: userOf(given.user === true ? {} : given.user) };
    const { source, ...options } = given;
    if (typeof source === 'string' || source instanceof URL) {
      return { spec: specOf(source), options: nativeOptions(options) };
    }
    if (source === undefined && Object.keys(given).length > 0) return { spec: tableOf(given), options: {} };
    if (source !== null && typeof source === 'object' && typeof source.list !== 'function' && source.read === undefined) {
      return { spec: tableOf(source), options: nativeOptions(options) };
    }
  }
  return layerOf(given, at);
}

function userOf(given) {
  const { from, ...others } = needOptions(given, 'user');
  return { ...others, from: from === undefined || from === null ? undefined : needPath(from, 'from') };
}

/** The options of a place that the addon reads. Whether such skills are trusted is decided by their scope. */
function nativeOptions({ trusted, ...options }) {
  if (trusted !== undefined) {
    throw new InvalidArgumentError('trusted is an option of sources in JavaScript; for a folder, set what the policy of its scope allows');
  }
  return layerOptions(options, LAYER.filter((name) => name !== 'trusted'));
}

/** A place as the addon takes it. */
function specOf(given) {
  if (typeof given === 'string') {
    if (OF_SERVER.test(given)) throw serverRefused();
    return needPath(given, 'the source');
  }
  return given.protocol === 'file:' ? { dir: needPath(fileURLToPath(given), 'the source') } : { url: given.href };
}

/** A text that names an MCP server. */
const OF_SERVER = /^(?:\w+=[^,]*,)*mcp=/;

const serverRefused = () =>
  new InvalidArgumentError('skills of an MCP server need the command; connect to: npx prowess serve --in "mcp=ADDRESS"');

/** The keys of a source in `prowess.toml`, with the names that they have here. */
const PATHS = ['dir', 'plugin', 'archive', 'jsonl', 'caFile'];
const TEXTS = ['url', 'name', 'description', 'instructions', 'mount', 'prefix', 'keyFrom'];
const FLAGS = ['unlisted', 'preload', 'optional'];

/** A source as `prowess.toml` has it. */
function tableOf(given) {
  const snake = (name) => (name === 'mount' ? 'mount_as' : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined).map(([name, value]) => {
    if (name === 'mcp') throw serverRefused();
    if (FLAGS.includes(name)) {
      if (typeof value !== 'boolean') throw new InvalidArgumentError(`${name} must be true or false, not ${typeOf(value)}`);
      return [snake(name), value];
    }
    const text = value instanceof URL ? specOf(value).dir ?? value.href : value;
    if (PATHS.includes(name)) return [snake(name), needPath(text, name)];
    if (TEXTS.includes(name)) return [snake(name), needString(text, name)];
    throw new InvalidArgumentError(`a source has no such key: ${name}; the keys are ${[...PATHS, ...TEXTS, ...FLAGS].join(', ')}`);
  }));
}

/** Layers with labels of their own, and the sources in JavaScript with their numbers. */
function labelled(layers) {
  const own = withOwnLabels(layers.filter((layer) => layer.source !== undefined));
  let host = -1;
  return layers.map((layer) => {
    if (layer.source === undefined) return layer;
    host += 1;
    return { ...own[host], host };
  });
}
