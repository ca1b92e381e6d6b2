// The types of the vocabulary of `@drover/skills`.

import type { ProwessError } from './types.js';

export interface SkillSpec {
  name: string;
  description: string;
  license?: string;
  compatibility?: string;
  metadata: Readonly<Record<string, string>>;
  /** The tools as written; a list is joined by spaces. */
  allowedTools?: string;
  body: string;
  /** The path of the SKILL.md. */
  path: string;
  /** Its folder. */
  dir: string;
  /** The fields that are not of the specification. */
  extra: Readonly<Record<string, unknown>>;
}
export interface SkillIssue {
  /** The field; `_` for the whole file. */
  field: string;
  message: string;
}
export class SkillLoadError extends ProwessError {
  constructor(filepath: string, issues: ReadonlyArray<SkillIssue> | string);
  readonly issues: ReadonlyArray<SkillIssue>;
}
export interface ParseOptions {
  mode?: 'strict' | 'lenient';
  skipParentDirCheck?: boolean;
}
export interface ParseResult {
  spec: SkillSpec;
  warnings: ReadonlyArray<SkillIssue>;
}
export function parseSkill(contents: string, filepath: string, opts?: ParseOptions): ParseResult;
/** @deprecated `parseSkill` also returns the warnings. */
export function parseSkillFile(contents: string, filepath: string): SkillSpec;
export function parseAllowedTools(raw: string | undefined): ReadonlyArray<string>;

export interface ScanOptions {
  /** `SKILL.md` by default. */
  filename?: string;
  /** 3 by default; the root has depth 0. */
  maxDepth?: number;
  /** `.`, `_` and `node_modules` by default. */
  skipPrefixes?: ReadonlyArray<string>;
  mode?: 'strict' | 'lenient';
  /** Without it, what is left out is a warning of the process (`SkillWarning`). */
  onIssue?: (filepath: string, issues: ReadonlyArray<SkillIssue>) => void;
}
export function scanSkillDirs(roots: ReadonlyArray<string>, opts?: ScanOptions): Promise<ReadonlyArray<SkillSpec>>;

export interface SkillRegistry {
  get(name: string): SkillSpec | undefined;
  list(): ReadonlyArray<SkillSpec>;
  has(name: string): boolean;
}
export function createSkillRegistry(skills: ReadonlyArray<SkillSpec>): SkillRegistry;

export interface SkillResources {
  scripts: ReadonlyArray<string>;
  references: ReadonlyArray<string>;
  assets: ReadonlyArray<string>;
  other: ReadonlyArray<string>;
}
export function listSkillResources(spec: SkillSpec): Promise<SkillResources>;
export function readSkillResource(spec: SkillSpec, relativePath: string): Promise<string>;

export interface ToolResult {
  content: string;
  isError?: true;
  data: {
    skill: string;
    path?: string;
    resource?: string;
    resources?: SkillResources;
    reason?: 'not_allowed' | 'missing' | 'too_large' | 'read_failed';
    runId?: unknown;
  };
}
export interface ToolDef<Input> {
  id: string;
  description: string;
  /** A JSON Schema. */
  inputSchema: { type: 'object'; properties: Record<string, unknown>; required: string[] };
  execute(input: Input, context?: { runId?: unknown }): Promise<ToolResult>;
}
export interface SkillLoadOptions {
  registry: SkillRegistry;
  allowed: ReadonlyArray<string>;
  /** Whether the files of a skill are mentioned; true by default. */
  hintResources?: boolean;
}
export function skillLoadTool(opts: SkillLoadOptions): ToolDef<{ name: string }>;
export interface SkillResourceOptions {
  registry: SkillRegistry;
  allowed: ReadonlyArray<string>;
  /** The largest file that is read: 65 536 bytes by default. */
  maxBytes?: number;
}
export function skillResourceTool(opts: SkillResourceOptions): ToolDef<{ name: string; resource?: string }>;
export function renderSkillsBlock(registry: SkillRegistry, allowed: ReadonlyArray<string>): string;
