// Values on their way into the engine: texts become bytes, and objects become JSON.

import { InvalidArgumentError, messageOf } from './errors.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
export const NO_BYTES = new Uint8Array(0);

/** The name of the type of a value, for messages. */
export function typeOf(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return { object: 'an object', undefined: 'undefined', function: 'a function' }[typeof value] ?? `a ${typeof value}`;
}

/** Whether a string has no half of a surrogate pair. */
export function isWellFormed(text) {
  return typeof text.isWellFormed === 'function' ? text.isWellFormed() : !/\p{Surrogate}/u.test(text);
}

/** A string that must be one. */
export function needString(value, what) {
  if (typeof value !== 'string') throw new InvalidArgumentError(`${what} must be a string, not ${typeOf(value)}`);
  if (!isWellFormed(value)) {
    throw new InvalidArgumentError(`${what} has half of a surrogate pair, which is no character; call toWellFormed() on it`);
  }
  return value;
}

/** A path in a file system that must be one. */
export function needPath(value, what) {
  if (needString(value, what).includes('\0')) throw new InvalidArgumentError(`${what} has a NUL character, which no path has`);
  return value;
}

/** A text of at most so many UTF-16 units; one that is cut ends with an ellipsis. */
export const cutTo = (text, most) => (text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text);

/** How many UTF-16 units of a name and a description of another program fit into frontmatter, however they are written. */
const NAME = 200;
const DESCRIPTION = 5_000;

/**
 * The name and the description of a skill that another program gave, as every skill must have them. What is blank is
 * filled in and what is long is cut, which an ellipsis shows, so that one such skill does not hide the others.
 */
export function presentable({ name, description }, id) {
  const trimmed = (text) => text.replace(/^[\s\u0085]+|[\s\u0085]+$/g, '');
  const shown = (value, most) => {
    const text = trimmed(['string', 'number'].includes(typeof value) ? String(value) : '');
    return cutTo(text, most).replace(/\p{Surrogate}/gu, '\uFFFD');
  };
  const named = shown(name, NAME) || shown(id, NAME) || '-';
  return { name: named, description: shown(description, DESCRIPTION) || named };
}

/** A chat that must be one. */
export function needChat(chat) {
  if (typeof chat?.toolDefinitions === 'function') return chat;
  throw new InvalidArgumentError(`the chat must be a Chat, not ${typeOf(chat)}`);
}

/** An object of options, which may be absent. */
export function needOptions(value, what = 'options') {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new InvalidArgumentError(`${what} must be an object, not ${typeOf(value)}`);
  }
  return value;
}

/** A list that must be one. A text is none: its letters are never meant. */
export function needList(value, what) {
  if (value === null || typeof value !== 'object' || typeof value[Symbol.iterator] !== 'function') {
    throw new InvalidArgumentError(`${what} must be a list, not ${typeOf(value)}`);
  }
  return [...value];
}

/** A number of bytes, or undefined. */
export function needCount(value, what) {
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || Number.isNaN(value) || value < 0) {
    throw new InvalidArgumentError(`${what} must be a number that is not negative, not ${typeof value === 'number' ? value : typeOf(value)}`);
  }
  return value;
}

/** A function that must be one. */
export function needFunction(value, what) {
  if (typeof value !== 'function') throw new InvalidArgumentError(`${what} must be a function, not ${typeOf(value)}`);
  return value;
}

/** The bytes of a text or of bytes. */
export function toBytes(value, what = 'the text') {
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) {
    if (value.byteLength === 0 && isDetached(value.buffer ?? value)) {
      throw new InvalidArgumentError(`${what} has a buffer that was transferred away`);
    }
    if (value instanceof Uint8Array) return value;
    return value instanceof ArrayBuffer ? new Uint8Array(value) : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  if (typeof value === 'string') return encoder.encode(needString(value, what));
  throw new InvalidArgumentError(`${what} must be a string or a Uint8Array, not ${typeOf(value)}`);
}

function isDetached(buffer) {
  try {
    new Uint8Array(buffer);
    return false;
  } catch {
    return true;
  }
}

/** Bytes that no other thread changes while they are read. */
export function owned(bytes) {
  return bytes.buffer instanceof ArrayBuffer ? bytes : Uint8Array.from(bytes);
}

/** The text of bytes or of a text. */
export function toText(value) {
  return typeof value === 'string' ? value : decoder.decode(value);
}

/** The JSON of an input. */
export function toJson(value) {
  let text;
  try {
    text = JSON.stringify(value ?? null);
  } catch (cause) {
    throw new InvalidArgumentError(`this value has no JSON form: ${messageOf(cause)}`, { cause });
  }
  if (text === undefined) throw new InvalidArgumentError(`this value has no JSON form: ${typeOf(value)}`);
  return text;
}

/** How deep the values in a response of a model may be. The engine reads a little deeper. */
const MAX_DEPTH = 100;

/**
 * A response of a model without values inside very many others, which the engine cannot read. Each is false, so that a call
 * with it is refused, and others are answered.
 */
export function ofModel(response) {
  const text = toJson(response);
  return depthOf(text) > MAX_DEPTH ? cut(JSON.parse(text), MAX_DEPTH) : response;
}

/** How many objects and lists of a JSON text are inside one another. */
function depthOf(text) {
  let [depth, deepest, inText] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const mark = text[at];
    if (inText) {
      if (mark === '\\') at += 1;
      else if (mark === '"') inText = false;
    } else if (mark === '"') inText = true;
    else if (mark === '[' || mark === '{') deepest = Math.max(deepest, (depth += 1));
    else if (mark === ']' || mark === '}') depth -= 1;
  }
  return deepest;
}

function cut(value, depth) {
  if (value === null || typeof value !== 'object') return value;
  if (depth === 0) return false;
  if (Array.isArray(value)) return value.map((one) => cut(one, depth - 1));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cut(one, depth - 1)]));
}
