// The types of Prowess for Node.

import {
  type Abortable, type Delta, type Layer, type Problem, type ProfileOptions, ProwessError, type Scope, type Skill,
  Skills as SharedSkills, type SkillsOptions, type Source,
} from './types.js';

export * from './types.js';

/** The configuration or the approvals of the user cannot be read. */
export class ConfigError extends ProwessError {}
/** The folders cannot be watched. */
export class WatchError extends ProwessError {}

/** A place that Prowess reads by itself, with the keys of a source in `prowess.toml`. */
export interface SourcePlace {
  /** A folder with skills in and below it, or `@org/name` for an installed skill. */
  dir?: string | URL;
  /** The folder of an agent plugin. */
  plugin?: string | URL;
  /** A `.skill`, `.zip` or `.tar.gz` file. */
  archive?: string | URL;
  /** A file with a skill on each line. */
  jsonl?: string | URL;
  /** A site with an index of skills. */
  url?: string | URL;
  /** Certificates, as PEM, to trust for `url`. */
  caFile?: string | URL;
  /** Whether the site is asked for files that its index does not list. */
  unlisted?: boolean;
  /** A skill that is written here. */
  name?: string;
  description?: string;
  instructions?: string;
  mount?: string;
  prefix?: string;
  keyFrom?: 'name' | 'folder' | 'id';
  preload?: boolean;
  /** Whether the file or folder may be missing. */
  optional?: boolean;
}
/** A place, and how its skills appear. */
export interface PlaceLayer {
  source: string | URL | SourcePlace;
  prefix?: string;
  mount?: string;
  scope?: Scope;
  preload?: boolean;
  keyFrom?: 'name' | 'folder' | 'id';
}
export interface UserOptions {
  /** The folder from which projects are looked for; the current one by default. */
  from?: string;
  /** The client whose folders are used; all by default. */
  client?: string;
  /** Whether the built-in skills are included. */
  builtins?: boolean;
  /** Whether what was read is cached; true by default. */
  cache?: boolean;
}
/** The skills of the user, after all other sources. */
export interface UserLayer {
  user: true | UserOptions;
}
/** Where skills come from: a text is what `--in` of the command takes, usually a folder. */
export type AnySource = string | URL | SourcePlace | PlaceLayer | UserLayer | Source | Layer;

/** The skills of folders, of the user, and of sources in JavaScript. */
export class Skills extends SharedSkills {
  static open(sources: AnySource | AnySource[], options?: SkillsOptions): Promise<Skills>;
  /** The skills that the user has, seen from a folder, with the user's configuration and approvals. */
  static ofUser(options?: UserOptions & SkillsOptions): Promise<Skills>;
  /** The changes as they happen, until the signal aborts or the loop ends: those of folders, and those of `refresh`. */
  watch(options?: Abortable): AsyncIterableIterator<Delta>;
}

/** Loads a skill from its folder or its SKILL.md, or rejects with a `LoadError` that has every problem. */
export function loadFolder(folder: string | URL, options?: ProfileOptions): Promise<Skill>;
/** The problems of a skill in its folder, as `prowess check` finds them. */
export function checkFolder(folder: string | URL, options?: ProfileOptions): Promise<Problem[]>;
