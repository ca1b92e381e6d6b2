// The types of the vocabulary of `@deuz-sdk/core/skills`.

import type { Embed, InvalidArgumentError, Source } from './types.js';

export interface SkillManifest {
  name: string;
  description: string;
  license?: string;
  allowedTools?: string[];
  metadata: Record<string, unknown>;
  body: string;
  raw: string;
}
export interface SkillValidationIssue {
  /** `_` for the file as a whole: it is larger than its limit, and was not read to its end. */
  field: 'name' | 'description' | '_';
  message: string;
}
export interface ParseSkillOptions {
  /** Accepted and not called: there is one reader of YAML. */
  parseYaml?: (yaml: string) => Record<string, unknown>;
  validate?: boolean;
}
export interface SkillSourceEntry {
  id: string;
  name: string;
  description: string;
  path?: string;
}
export interface SkillSource {
  list(): Promise<SkillSourceEntry[]>;
  read(id: string): Promise<string>;
  readResource?(id: string, rel: string): Promise<Uint8Array | string>;
}
export interface SkillCandidate {
  id: string;
  name: string;
  description: string;
}
export interface SkillMatch {
  id: string;
  score: number;
}
export interface SkillMatchOptions {
  topK?: number;
  threshold?: number;
}
export interface SkillMatcher {
  match(query: string, candidates: SkillCandidate[], opts?: SkillMatchOptions): SkillMatch[] | Promise<SkillMatch[]>;
}
export interface SkillRegistry {
  catalog(): Promise<SkillCandidate[]>;
  trigger(id: string): Promise<SkillManifest>;
  resource(id: string, rel: string): Promise<Uint8Array | string>;
  match(query: string, opts?: SkillMatchOptions): Promise<SkillMatch[]>;
}
/** The tools of a host, by name. */
export type ToolSetLike = Record<string, unknown>;
export class InvalidRequestError extends InvalidArgumentError {
  constructor(given: string | { message: string });
  readonly status: 400;
}

export function parseSkill(raw: string, options?: ParseSkillOptions): { manifest: SkillManifest; issues: SkillValidationIssue[] };
export function splitFrontmatter(raw: string): { frontmatter: string | null; body: string };
export function validateSkillName(name: string): SkillValidationIssue[];
export function validateSkillDescription(description: string): SkillValidationIssue[];
export function createSkillRegistry(deps: {
  source: SkillSource;
  matcher?: SkillMatcher;
  parseYaml?: (yaml: string) => Record<string, unknown>;
}): SkillRegistry;
export function fetchSkillSource(baseUrl: string, fetchImpl?: typeof fetch): SkillSource;
export function staticSkillSource(
  skills: Record<string, { raw: string; resources?: Record<string, Uint8Array | string> }>,
): SkillSource;
export function mergeSkillSources(
  sources: Array<{ source: SkillSource; prefix?: string }>,
  opts?: { override?: boolean },
): SkillSource;
export const lexicalMatcher: SkillMatcher;
export function embeddingMatcher(embed: Embed): SkillMatcher;
export function scopeToolsToSkill<Tool>(tools: Record<string, Tool>, allowedTools: string[] | undefined): Record<string, Tool>;
export function normalizeResourcePath(rel: string): string;
export function renderSkillCatalog(candidates: SkillCandidate[]): string;
/** A source of this vocabulary as one for `Skills.open`. */
export function asSource(source: SkillSource, options?: { label?: string }): Source;
