// What follows a call through its waits.

export { AsyncLocalStorage } from 'node:async_hooks';
