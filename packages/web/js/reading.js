// Reads of a source in JavaScript: its files, the digest over all of them, and parts of one.

import { parsePath } from './api.js';
import { InvalidArgumentError, SourceError } from './errors.js';
import { aborted, collected } from './signals.js';
import { needString, toBytes, typeOf } from './values.js';

/** The most files and bytes that a digest covers, as for a folder. */
const MAX_FILES = 10_000;
const MAX_BYTES = 64 << 20;
/** The first line of what a digest is computed from: docs/use/install.md has the others. */
const LISTING = 'agent-skill-tree 1\n';

const encoder = new TextEncoder();

/** Bytes of a file of a skill. */
export async function readFrom({ source, label, texts }, id, path, signal) {
  const text = path === 'SKILL.md' ? texts?.get(id) : undefined;
  // A copy: the caller may change it.
  if (text !== undefined) return new Uint8Array(text);
  const contents = await aborted(source.read(id, path, { signal }), signal);
  if (contents === undefined || contents === null) throw missing(label, id, path);
  return toBytes(contents, 'the contents of a file');
}

const missing = (label, id, path) => new SourceError(`the source ${label} has no file ${path} of ${id}`, { code: 'missing' });

/** The files of a skill; a source that cannot list them has only its SKILL.md. */
export async function filesFrom({ source, label }, id, signal) {
  if (typeof source.files !== 'function') return ['SKILL.md'];
  const files = await collected(source.files(id, { signal }), signal);
  return files.map((file) => {
    try {
      return fileOf(file);
    } catch (cause) {
      if (!(cause instanceof InvalidArgumentError)) throw cause;
      throw new SourceError(`the source ${label} lists a file of ${id} that is refused: ${cause.message}`, { code: 'source', cause });
    }
  });
}

/** A file as a source may list it: its path, or `{path, size, executable, leftOut}`. */
function fileOf(file) {
  if (file === null || (typeof file !== 'string' && typeof file !== 'object')) {
    throw new InvalidArgumentError(`a file must be its path or an object, not ${typeOf(file)}`);
  }
  const { path, size, executable, leftOut } = typeof file === 'string' ? { path: file } : file;
  needString(path, 'the path of a file');
  if (leftOut !== undefined && leftOut !== null) return { path, leftOut: needString(leftOut, `the reason why ${path} is left out`) };
  const { message } = parsePath(path, { reading: 'strict' });
  if (message !== undefined) throw new InvalidArgumentError(message);
  if (size !== undefined && size !== null && !(Number.isSafeInteger(size) && size >= 0)) {
    throw new InvalidArgumentError(`the size of ${path} is no number of bytes`);
  }
  if (typeof file === 'string') return path;
  return { path, ...(typeof size === 'number' ? { size } : {}), ...(executable === true ? { executable } : {}) };
}

/** The files that a digest covers, each with its mode, in the order of the bytes of their paths. */
async function coveredFiles(layer, id, signal) {
  const modes = new Map();
  let size = 0;
  for (const file of await filesFrom(layer, id, signal)) {
    const { path, executable, leftOut, size: bytes = 0 } = typeof file === 'string' ? { path: file } : file;
    if (leftOut !== undefined) {
      throw new SourceError(`${id} has something that no digest covers: ${path}: ${leftOut}`, { code: 'source' });
    }
    modes.set(path, executable === true ? '100755' : '100644');
    size += bytes;
    within(id, modes.size, size);
  }
  // What a model loads is covered, whatever the list says.
  if (!modes.has('SKILL.md') && !modes.has('skill.md')) modes.set('SKILL.md', '100644');
  const files = [...modes].map(([path, mode]) => ({ path, mode, bytes: encoder.encode(path) }));
  return files.sort((one, other) => byBytes(one.bytes, other.bytes));
}

function byBytes(one, other) {
  const at = one.findIndex((byte, index) => byte !== other[index]);
  return at === -1 ? one.length - other.length : one[at] - (other[at] ?? -1);
}

function within(id, files, size) {
  if (files <= MAX_FILES && size <= MAX_BYTES) return;
  const limit = `${MAX_FILES} files and ${MAX_BYTES} bytes`;
  throw new SourceError(`${id} is too large for a digest: ${files} files, ${size} bytes, at most ${limit}`, { code: 'too-large' });
}

function hasher() {
  const subtle = globalThis.crypto?.subtle;
  if (subtle === undefined) {
    throw new SourceError('there is no crypto.subtle for a digest; a page must be served over HTTPS or from localhost', { code: 'source' });
  }
  return async (bytes) => {
    const digest = new Uint8Array(await subtle.digest('SHA-256', bytes));
    return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
  };
}

/** The tree digest v1 over all files of a skill, and the contents that it covers. */
export async function digestOf(layer, id, signal) {
  const hash = hasher();
  const files = await coveredFiles(layer, id, signal);
  const contents = new Map();
  let [listing, size] = [LISTING, 0];
  for (const { path, mode } of files) {
    // A copy, so that what is returned is what was hashed.
    const bytes = new Uint8Array(await readFrom(layer, id, path, signal));
    size += bytes.byteLength;
    within(id, files.length, size);
    contents.set(path, bytes);
    listing += `${mode} ${await hash(bytes)} ${bytes.byteLength} ${path}\n`;
  }
  return { digest: `sha256:${await hash(encoder.encode(listing))}`, contents };
}

/** A path that a caller asks for, normalized. One that leads out of its skill never reaches a source. */
function inside(path) {
  const { path: read, message } = parsePath(path);
  if (read === undefined) throw new SourceError(`this path is refused: ${message}`, { code: 'outside' });
  return read;
}

/** A part of a file of a skill; with `expectDigest`, of a file that the digest covers, and the digest over all. */
export async function partFrom({ layer, id }, asked, { offset = 0, limit = Number.POSITIVE_INFINITY, expectDigest }, signal) {
  const path = inside(asked);
  const part = (bytes, digest) => ({ bytes: bytes.subarray(offset, offset + limit), size: bytes.byteLength, digest });
  if (expectDigest === undefined) return part(await readFrom(layer, id, path, signal));
  const { digest, contents } = await digestOf(layer, id, signal);
  const bytes = contents.get(path) ?? (path === 'SKILL.md' ? contents.get('skill.md') : undefined);
  if (bytes === undefined) throw missing(layer.label, id, path);
  return part(bytes, digest);
}
