// The types of Prowess in a browser and at the edge.

import type { Awaitable } from './types.js';

export * from './types.js';

/**
 * Loads the engine. Await it before anything else; edge runtimes pass the bytes or the compiled module. After an error,
 * it can be called again.
 */
export function init(source?: Awaitable<string | URL | Request | Response | BufferSource | WebAssembly.Module>): Promise<void>;
export default init;
/** Loads the engine from its bytes or its compiled module, at once. */
export function initSync(source: BufferSource | WebAssembly.Module): void;
/** Whether the engine is loaded. */
export function isReady(): boolean;
