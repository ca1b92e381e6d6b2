// Sources of skills: what one is, one in memory, and one behind fetch.

import { parsePath } from './api.js';
import { InvalidArgumentError, SourceError } from './errors.js';
import { needFunction, needOptions, needString, toBytes, typeOf } from './values.js';

/** How many SKILL.md are read at the same time. */
const PARALLEL = 16;
const LAYER = ['prefix', 'mount', 'scope', 'preload', 'trusted', 'keyFrom'];

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
  const label = typeof source.label === 'string' && source.label !== '' ? source.label : `source-${at + 1}`;
  return { source, label, options };
}

/** The options of a source, checked. */
export function layerOptions(options) {
  const unknown = Object.keys(options).find((name) => !LAYER.includes(name));
  if (unknown !== undefined) {
    throw new InvalidArgumentError(`a source has no such option: ${unknown}; the options are ${LAYER.join(', ')}`);
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

/** The skills that a source lists, each as `{id, location, text}`. */
export async function listed({ source, label }, signal) {
  let items;
  try {
    items = await aborted(source.list({ signal }), signal);
    const found = [];
    for await (const item of items) found.push(item);
    return found.map((item) => entryOf(item, label));
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    if (cause instanceof SourceError) throw cause;
    throw new SourceError(`the source ${label} could not list its skills: ${cause?.message ?? cause}`, {
      code: 'source',
      cause,
    });
  }
}

function entryOf(item, label) {
  const entry = typeof item === 'string' ? { id: item } : item;
  if (entry === null || typeof entry !== 'object' || typeof entry.id !== 'string' || entry.id === '') {
    throw new SourceError(`the source ${label} listed something without an id: ${typeOf(item)}`, { code: 'source' });
  }
  needString(entry.id, 'the id of a skill');
  return { id: entry.id, location: entry.location, text: entry.text };
}

/** Bytes of a file of a skill. */
export async function readFrom({ source, label }, id, path, signal) {
  const contents = await aborted(source.read(id, path, { signal }), signal);
  if (contents === undefined || contents === null) {
    throw new SourceError(`the source ${label} has no file ${path} of ${id}`, { code: 'missing' });
  }
  return toBytes(contents, 'the contents of a file');
}

/** The files of a skill; a source that cannot list them has only its SKILL.md. */
export async function filesFrom({ source }, id, signal) {
  if (typeof source.files !== 'function') return ['SKILL.md'];
  const files = [];
  for await (const file of await aborted(source.files(id, { signal }), signal)) files.push(file);
  return files;
}

/** A promise that rejects when the signal aborts, so that a callback that never settles does not hold the caller. */
export function aborted(value, signal) {
  if (signal === undefined || signal === null) return value;
  if (typeof signal.addEventListener !== 'function') {
    throw new InvalidArgumentError('the signal must be an AbortSignal');
  }
  if (signal.aborted) return Promise.reject(signal.reason);
  let stop;
  const ended = new Promise((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  return Promise.race([Promise.resolve(value), ended]).finally(() => signal.removeEventListener('abort', stop));
}

/** The SKILL.md of each entry; one that cannot be read is a problem, and hides no other. */
export async function textsOf(layer, entries, signal, problems) {
  return inTurns(entries, async (entry) => {
    if (entry.text !== undefined) return toBytes(entry.text, `the text of ${entry.id}`);
    try {
      return await readFrom(layer, entry.id, 'SKILL.md', signal);
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      const message = `the SKILL.md of ${entry.id} could not be read: ${cause?.message ?? cause}`;
      problems.push(new SourceError(message, { code: cause?.code ?? 'source', cause }));
      return undefined;
    }
  });
}

/** Maps a list with a few calls at a time, in order. */
async function inTurns(items, work) {
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

/** A digest over all files of a skill, and the contents that it covers. */
export async function digestOf(layer, id, signal) {
  const hash = async (bytes) => {
    const digest = new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', bytes));
    return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
  };
  const files = await filesFrom(layer, id, signal);
  const paths = files.map((file) => (typeof file === 'string' ? file : file.path)).sort();
  const contents = new Map();
  for (const path of paths) contents.set(path, await readFrom(layer, id, path, signal));
  const lines = await Promise.all(paths.map(async (path) => `${await hash(contents.get(path))}  ${path}\n`));
  return { digest: `sha256:${await hash(new TextEncoder().encode(lines.join('')))}`, contents };
}

/** A source in memory: a SKILL.md or the files of each skill, by id. */
export function memorySource(skills, { label = 'memory' } = {}) {
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

/**
 * A source behind `fetch`: `index.json` below the address lists the skills, as an array or as `{skills: []}`, of ids or of
 * objects with `id` and perhaps `files`. Their files are below the folder of their id.
 */
export function fetchSource(address, { fetch = globalThis.fetch?.bind(globalThis), label } = {}) {
  const root = needString(String(address), 'the address').replace(/\/+$/, '');
  needFunction(fetch, 'fetch');
  const known = new Map();
  const encoded = (path) => path.split('/').map(encodeURIComponent).join('/');
  const get = async (path, signal) => {
    // An id or a path of another machine must not lead out of the address.
    const { rule, message } = parsePath(path, { reading: 'strict' });
    if (rule !== undefined) throw new SourceError(`this path is refused: ${message}`, { code: 'outside' });
    const response = await fetch(`${root}/${encoded(path)}`, { signal });
    if (response.ok) return response;
    const code = response.status === 404 || response.status === 410 ? 'missing' : 'source';
    throw new SourceError(`${root}/${path} returned HTTP ${response.status}`, { code });
  };
  return {
    label: label ?? root,
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
