// Sources of skills: what one is, one in memory, and one behind fetch.

import { parsePath } from './api.js';
import { BusyError, InvalidArgumentError, messageOf, ProwessError, SourceError } from './errors.js';
import { readFrom } from './reading.js';
import { collected } from './signals.js';
import { needFunction, needOptions, needString, toBytes, typeOf } from './values.js';

/** How many files are read at the same time. */
const PARALLEL = 16;
/** What an error of a source means, by its code. */
const FAILURES = new Map([
  ['missing', 'missing'], ['ENOENT', 'missing'], ['ENOTDIR', 'missing'], ['outside', 'outside'], ['EISDIR', 'not-a-file'],
  ['not-a-file', 'not-a-file'], ['too-large', 'too-large'], ['broken', 'broken'], ['not-as-listed', 'not-as-listed'],
]);
export const LAYER = ['prefix', 'mount', 'scope', 'preload', 'trusted', 'keyFrom'];

/** A source with its options: `{source, prefix, mount, scope, preload, trusted, keyFrom}`, or a source alone. */
export function layerOf(given, at) {
  if (given === null || typeof given !== 'object') {
    throw new InvalidArgumentError(`a source must be an object with list and read, not ${typeOf(given)}`);
  }
  const layer = typeof given.list === 'function' ? { source: given } : { ...given };
  const { source, ...options } = layer;
  if (source === null || typeof source !== 'object') {
    throw new InvalidArgumentError('a source must be an object with the functions list and read');
  }
  needFunction(source.list, 'the list of a source');
  needFunction(source.read, 'the read of a source');
  layerOptions(options);
  // A source may say whose skills it has.
  if (source.scope !== undefined) options.scope ??= needString(source.scope, 'the scope of a source');
  const label = typeof source.label === 'string' && source.label !== '' ? source.label : `source-${at + 1}`;
  return { source, label, options };
}

/** The options of a source, checked. */
export function layerOptions(options, names = LAYER) {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new InvalidArgumentError(`a source has no such option: ${unknown}; the options are ${names.join(', ')}`);
  }
  return options;
}

/** Sources with labels of their own: the location of a skill begins with the label, so two must not share one. */
export function withOwnLabels(layers) {
  const taken = new Set();
  return layers.map((layer) => {
    let { label } = layer;
    for (let next = 2; taken.has(label); next += 1) label = `${layer.label} (${next})`;
    taken.add(label);
    return { ...layer, label };
  });
}

/** The code of what a source threw, or another one if it says nothing to us. */
export function failureOf(thrown, usual) {
  try {
    return FAILURES.get(thrown?.code) ?? usual;
  } catch {
    return usual;
  }
}

/** The error of a source: its own, or one around what it threw. */
function sourceError(thrown, what, signal) {
  if (signal?.aborted) return signal.reason;
  if (thrown instanceof SourceError || thrown instanceof BusyError) return thrown;
  return new SourceError(`${what}: ${messageOf(thrown)}`, { code: failureOf(thrown, 'source'), cause: thrown });
}

/** The skills that a source lists, each as `{id, location, text}`. */
export async function listed({ source, label }, signal) {
  try {
    const found = await collected(source.list({ signal }), signal);
    return found.map((item) => entryOf(item, label));
  } catch (thrown) {
    throw sourceError(thrown, `the source ${label} could not list its skills`, signal);
  }
}

function entryOf(item, label) {
  const entry = typeof item === 'string' ? { id: item } : item;
  if (entry === null || typeof entry !== 'object' || typeof entry.id !== 'string' || entry.id === '') {
    throw new SourceError(`the source ${label} listed something without an id: ${typeOf(item)}`, { code: 'source' });
  }
  needString(entry.id, 'the id of a skill');
  if (entry.location !== undefined && entry.location !== null) needString(entry.location, 'the location of a skill');
  return { id: entry.id, location: entry.location ?? undefined, text: entry.text ?? undefined };
}

/** The SKILL.md of each entry; one that cannot be read is a problem, and hides no other. */
export async function textsOf(layer, entries, signal, problems) {
  const read = await inTurns(entries, async (entry) => {
    try {
      const text = entry.text ?? (await readFrom(layer, entry.id, 'SKILL.md', signal));
      // A copy: the source may change or transfer its own bytes before they are used.
      return { text: new Uint8Array(toBytes(text, `the text of ${entry.id}`)) };
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      const message = `the SKILL.md of ${entry.id} could not be read: ${messageOf(cause)}`;
      return { problem: new SourceError(message, { code: failureOf(cause, 'source'), cause }) };
    }
  });
  // In the order of the list, whichever failed first.
  problems.push(...read.flatMap(({ problem }) => problem ?? []));
  return read.map(({ text }) => text);
}

/** A source as its skills are read later: a text that it listed is the SKILL.md of that skill. */
export function withTexts(layer, entries, texts) {
  const held = entries.map(({ id, text }, at) => [id, text === undefined ? undefined : texts[at]]);
  const texted = held.filter(([, text]) => text !== undefined);
  return texted.length === 0 ? layer : { ...layer, texts: new Map(texted) };
}

/** Maps a list with a few calls at a time, in order. */
export async function inTurns(items, work) {
  const results = new Array(items.length);
  let next = 0;
  const turn = async () => {
    while (next < items.length) {
      const at = next++;
      results[at] = await work(items[at]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, items.length) }, turn));
  return results;
}

/** Reads for the host, and not for a model: what a source throws becomes an error of this package. */
export async function forHost(reading, what, signal) {
  try {
    return await reading;
  } catch (thrown) {
    if (thrown instanceof ProwessError && !(thrown instanceof InvalidArgumentError)) throw thrown;
    throw sourceError(thrown, what, signal);
  }
}

/** A source in memory: a SKILL.md or the files of each skill, by id. */
export function memorySource(skills, options) {
  const { label = 'memory' } = needOptions(options);
  const entries = Object.entries(needOptions(skills, 'the skills'));
  const held = new Map(
    entries.map(([id, contents]) => {
      const isText = typeof contents === 'string' || contents instanceof Uint8Array;
      return [id, isText ? { 'SKILL.md': contents } : { ...needOptions(contents, `the files of ${id}`) }];
    }),
  );
  const filesOf = (id) => held.get(id) ?? {};
  return {
    label,
    list: () => [...held.keys()],
    files: (id) =>
      Object.entries(filesOf(id)).map(([path, contents]) => ({ path, size: toBytes(contents).byteLength })),
    read: (id, path) => (Object.hasOwn(filesOf(id), path) ? filesOf(id)[path] : null),
  };
}

/** The address of a file below another. */
export const addressOf = (root, path) => `${root}/${path.split('/').map(encodeURIComponent).join('/')}`;

/**
 * A source behind `fetch`: `index.json` below the address lists the skills, as an array or as `{skills: []}`, of ids or of
 * objects with `id` and perhaps `files`. Their files are below the folder of their id.
 */
export function fetchSource(address, options) {
  const { fetch = globalThis.fetch?.bind(globalThis), label } = needOptions(options);
  const root = needString(address instanceof URL ? address.href : address, 'the address').replace(/\/+$/, '');
  needFunction(fetch, 'fetch');
  const known = new Map();
  const get = async (path, signal) => {
    // An id or a path of another machine must not lead out of the address.
    const { rule, message } = parsePath(path, { reading: 'strict' });
    if (rule !== undefined) throw new SourceError(`this path is refused: ${message}`, { code: 'outside' });
    const response = await fetch(addressOf(root, path), { signal });
    if (response.ok) return response;
    const code = response.status === 404 || response.status === 410 ? 'missing' : 'source';
    throw new SourceError(`${root}/${path} returned HTTP ${response.status}`, { code });
  };
  return {
    label: label ?? root,
    // What another machine says gets no tools before it is approved.
    scope: 'remote',
    async list({ signal } = {}) {
      const index = await (await get('index.json', signal)).json();
      const skills = Array.isArray(index) ? index : index?.skills;
      if (!Array.isArray(skills)) throw new SourceError(`${root}/index.json lists no skills`, { code: 'source' });
      known.clear();
      return skills.map((skill) => {
        const { id, files } = typeof skill === 'string' ? { id: skill } : (skill ?? {});
        if (Array.isArray(files)) known.set(id, files);
        return { id, location: `${root}/${id}/SKILL.md` };
      });
    },
    files: (id) => known.get(id) ?? ['SKILL.md'],
    async read(id, path, { signal } = {}) {
      return new Uint8Array(await (await get(`${id}/${path}`, signal)).arrayBuffer());
    },
  };
}
