// The engine as WebAssembly: loads it once, and turns its failures into errors.

import start, * as wasm from './engine.js';
import { fromEngine, messageOf, ProwessError } from './errors.js';
import { NO_BYTES, toJson } from './values.js';

/** What no other module exports. */
const NEEDED = ['run', 'library_new', 'library_session', 'session_run', '__wbindgen_start'];

let ready;
let started = false;

/** Whether the engine is loaded. */
export function isReady() {
  return started;
}

/**
 * Loads the engine. Without a source it is fetched from beside this file; edge runtimes and bundlers pass the bytes, a
 * response or a compiled module. After an error, it can be called again.
 */
export function init(source) {
  ready ??= loaded(source).catch((cause) => {
    ready = undefined;
    throw notLoaded(cause);
  });
  return ready;
}

async function loaded(source) {
  const module = checked(await compiled((await source) ?? (await beside())));
  if (!started) await start({ module_or_path: module });
  started = true;
}

/** Loads the engine from its bytes or its compiled module, at once. */
export function initSync(source) {
  if (started) return;
  try {
    wasm.initSync({ module: checked(source instanceof WebAssembly.Module ? source : new WebAssembly.Module(source)) });
  } catch (cause) {
    throw notLoaded(cause);
  }
  started = true;
  ready = Promise.resolve();
}

const notLoaded = (cause) => new ProwessError(`the engine could not be loaded: ${messageOf(cause)}`, { code: 'not-ready', cause });

/** The compiled module of an address, a response or bytes. */
async function compiled(source) {
  const is = (Class) => typeof Class === 'function' && source instanceof Class;
  if (is(WebAssembly.Module)) return source;
  if (typeof source === 'string' || is(URL) || is(globalThis.Request)) return compiled(await fetch(source));
  if (!is(globalThis.Response)) return WebAssembly.compile(source);
  if (!source.ok) throw new Error(`${source.url} returned HTTP ${source.status}`);
  const streams = source.headers.get('content-type') === 'application/wasm' && WebAssembly.compileStreaming !== undefined;
  return streams ? WebAssembly.compileStreaming(source) : WebAssembly.compile(await source.arrayBuffer());
}

/** A module that is the engine. The loader keeps whatever module it gets, also one that fails to start. */
function checked(module) {
  const exported = new Set(WebAssembly.Module.exports(module).map(({ name }) => name));
  if (!NEEDED.every((name) => exported.has(name))) throw new Error('this module is not the engine of prowess-web');
  return module;
}

async function beside() {
  const url = new URL('engine_bg.wasm', import.meta.url);
  if (url.protocol !== 'file:' || typeof process === 'undefined') return url;
  // Node reads no file through fetch.
  const { readFile } = await import('node:fs/promises');
  return readFile(url);
}

/** The handles of the engine. */
export function engine() {
  if (!started) {
    throw new ProwessError('the engine is not loaded yet; call init() and await it first', { code: 'not-ready' });
  }
  return wasm;
}

/** Runs an operation without state. */
export function call(operation, input, bytes = NO_BYTES) {
  const { run } = engine();
  return guarded(() => JSON.parse(run(operation, toJson(input), bytes)));
}

/** Runs work of the engine; what it throws becomes an error of the right class. */
export function guarded(work) {
  try {
    return work();
  } catch (thrown) {
    throw fromEngine(thrown);
  }
}
