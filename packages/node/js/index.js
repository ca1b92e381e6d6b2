// Prowess, the Agent Skills runtime, for Node.

import { needOptions } from './values.js';
import { Skills as SharedSkills } from './skills.js';

export {
  allowsTool, applyFix, check, checkDescription, checkName, compose, describe, estimateTokens, findings, firstCollision, fix,
  fromDict, load, parse, parseAllowedTools, parsePath, renderActivation, renderCatalog, rules, scopeTools, search,
  searchByMeaning, toDict,
} from './api.js';
export { Chat } from './chat.js';
export {
  BusyError, ClosedError, ConfigError, DuplicateSkillError, InvalidArgumentError, LoadError, ProwessError, RestoreError,
  SelectError, SourceError, WatchError,
} from './errors.js';
export { checkFolder, loadFolder } from './folders.js';
export { Session } from './session.js';
export { fetchSource, memorySource } from './sources.js';

/** The skills of folders, of the user, and of sources in JavaScript. */
export class Skills extends SharedSkills {
  /** The skills that the user has, seen from a folder, with the user's configuration and approvals. */
  static ofUser(options) {
    const { from, client, builtins, cache, ...others } = needOptions(options);
    return this.open([{ user: { from, client, builtins, cache } }], others);
  }
}
