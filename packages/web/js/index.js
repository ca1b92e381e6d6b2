// Prowess, the Agent Skills runtime, for browsers and edge runtimes. Await `init()` before anything else.

export { init, init as default, initSync, isReady } from './binding.js';
export {
  allowsTool, applyFix, check, checkDescription, checkName, compose, describe, estimateTokens, findings, firstCollision, fix,
  fromDict, load, parse, parseAllowedTools, parsePath, renderActivation, renderCatalog, rules, scopeTools, search,
  searchByMeaning, toDict,
} from './api.js';
export { Chat } from './chat.js';
export {
  BusyError, ClosedError, DuplicateSkillError, InvalidArgumentError, LoadError, ProwessError, RestoreError, SelectError, SourceError,
} from './errors.js';
export { Skills } from './skills.js';
export { Session } from './session.js';
export { fetchSource, memorySource } from './sources.js';
