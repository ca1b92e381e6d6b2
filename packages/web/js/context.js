// What follows a call through its waits, if the runtime has it: browsers do not.

/** `AsyncLocalStorage` of the runtime, or undefined. */
export const AsyncLocalStorage =
  globalThis.AsyncLocalStorage ?? globalThis.process?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage;
