// Where the skills of a `Skills` are: sources in JavaScript, read into a library of the engine.

import { engine, guarded } from './binding.js';
import { ClosedError, SourceError } from './errors.js';
import { digestOf, filesFrom, partFrom } from './reading.js';
import { layerOf, textsOf, withOwnLabels, withTexts } from './sources.js';
import { listedIfPossible, needSourceErrors, Sayings } from './unlisted.js';
import { toJson } from './values.js';

/** The options of `Skills.open` that are about which skills there are. */
export const SHELF_OPTIONS = ['profile', 'levels', 'duplicates', 'sourceErrors'];

/** The sources, and what was read from them last. */
export class Shelf {
  #layers;
  #options;
  #origins = new Map();
  #readings = 0;
  #filled = 0;
  #closed = false;
  #sourceErrors;
  #sayings;
  snapshot;
  problems = [];
  /** Whether there is a source that the host wrote. */
  callsHost = true;

  constructor(sources, options) {
    this.#layers = withOwnLabels((Array.isArray(sources) ? sources : [sources]).map(layerOf));
    this.#options = options;
    this.#sourceErrors = needSourceErrors(options.sourceErrors);
    this.#sayings = new Sayings(options.onError);
  }

  /** Reads every source again: what changed. After an error the old skills stay. */
  async refresh(signal) {
    const reading = (this.#readings += 1);
    const { profile, levels, duplicates } = this.#options;
    const { Library } = engine();
    const library = guarded(() => new Library(toJson({ judge: { profile, levels }, duplicates })));
    try {
      return await this.#fill(library, reading, signal);
    } finally {
      // A reading that fails, or that another one overtook, leaves nothing behind.
      if (this.snapshot !== library) library.free();
    }
  }

  /** Reads every source into a library, which then is the one that counts. */
  async #fill(library, reading, signal) {
    const origins = new Map();
    const problems = [];
    const failed = new Map();
    for (const layer of this.#layers) {
      const { trusted = true, ...appearance } = layer.options;
      const entries = await listedIfPossible(layer, this.#sourceErrors, failed, signal);
      const texts = await textsOf(layer, entries, signal, problems);
      const read = withTexts(layer, entries, texts);
      entries.forEach(({ id, location }, at) => {
        if (texts[at] === undefined) return;
        const input = { source: layer.label, id, location, ...appearance, untrusted: !trusted };
        const skill = guarded(() => JSON.parse(library.add(toJson(input), texts[at])));
        origins.set(skill.location, { layer: read, id });
      });
    }
    if (this.#closed) throw new ClosedError('these skills are closed', { code: 'closed' });
    const unlisted = [...failed.values()];
    // Without any source there is nothing to offer.
    if (unlisted.length > 0 && unlisted.length === this.#layers.length) throw unlisted[0];
    // A reading that began later may be done already; what it found counts.
    if (reading < this.#filled) return { added: [], changed: [], removed: [], newlyBroken: [] };
    guarded(() => library.seal());
    const before = this.snapshot;
    const delta = before && guarded(() => JSON.parse(library.since(before)));
    this.#filled = reading;
    this.snapshot = library;
    this.#origins = origins;
    this.problems = [...unlisted, ...problems];
    this.#sayings.say(unlisted);
    return delta;
  }

  /** The source of a skill and its id there. */
  #origin({ key, location }) {
    const origin = this.#origins.get(location);
    if (origin === undefined) throw new SourceError(`${key} is no longer at ${location}`, { code: 'missing' });
    return origin;
  }

  async files(skill, signal) {
    const { layer, id } = this.#origin(skill);
    return filesFrom(layer, id, signal);
  }

  /** A part of a file; with `expectDigest`, the digest over all files when it was read. */
  async read(skill, path, part, signal) {
    return partFrom(this.#origin(skill), path, part, signal);
  }

  /** A digest over all files of a skill. */
  async digest(skill, signal) {
    const { layer, id } = this.#origin(skill);
    return (await digestOf(layer, id, signal)).digest;
  }

  /** Ranks some of the skills. */
  async search(among, asked) {
    return guarded(() => JSON.parse(this.snapshot.run('search', toJson({ among, asked }))));
  }

  close() {
    this.#closed = true;
    this.#origins = new Map();
  }
}
