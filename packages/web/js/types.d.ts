// The types that every JavaScript package of Prowess shares.

export type Text = string | Uint8Array | ArrayBuffer;
export type ProfileName = 'spec' | 'skills-ref' | 'anthropic' | 'plugin' | 'lenient';
export type Level = 'off' | 'info' | 'warning' | 'error';
export type Severity = 'info' | 'warning' | 'error';
export type Scope = 'explicit' | 'project' | 'user' | 'builtin' | 'remote';
export type Dialect = 'mcp' | 'anthropic' | 'openai' | 'gemini';
export type Actor = 'model' | 'user' | 'host';
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Awaitable<T> = T | Promise<T>;

/** Where a text comes from. */
export interface Place {
  /** The path or URL of the SKILL.md. */
  location?: string;
  /** The name of the folder of the skill. */
  folder?: string;
  /** The name of the file; `SKILL.md` by default. */
  file?: string;
}

/** A place in a text, in UTF-16 units as JavaScript counts; line and column are those of its start, from 1. */
export interface Span {
  start: number;
  end: number;
  line: number;
  column: number;
}

/** A replacement of text. */
export interface Edit {
  start: number;
  end: number;
  replacement: string;
}

/** Edits that remove a problem. */
export interface Fix {
  title: string;
  /** Whether it may be applied without asking. */
  safe: boolean;
  edits: Edit[];
}

/** A finding judged by a profile. */
export interface Problem {
  code: string;
  severity: Severity;
  field: string | null;
  message: string;
  help: string | null;
  span?: Span | null;
  related?: { message: string; span: Span }[];
  fix?: Fix | null;
}

/** What the rules find, whatever a profile makes of it. */
export interface Finding {
  code: string;
  field: string | null;
  message: string;
  text: string | null;
}

/** A rule and its level in each profile. */
export interface Rule {
  code: string;
  summary: string;
  explanation: string;
  levels: Record<ProfileName, Level>;
}

/** The fields of a skill in the specification's form. */
export interface SkillFields {
  name: string;
  description: string;
  license?: string;
  compatibility?: string;
  metadata?: Record<string, string>;
  'allowed-tools'?: string | string[];
  instructions?: string;
  path?: string;
  [key: string]: unknown;
}

/** A skill without its text. */
export interface SkillEntry {
  key: string;
  name: string;
  description: string;
  license: string | null;
  compatibility: string | null;
  metadata: Record<string, string>;
  /** The tools as written; null when the field is absent. */
  allowedTools: string[] | null;
  invocation: { model: boolean; user: boolean };
  tags: string[];
  version: string | null;
  /** Every field that is not of the specification, typed. */
  extra: Record<string, Json>;
  /** All fields in the specification's form. */
  fields: SkillFields;
  scope: Scope;
  location: string;
  folder: string | null;
  /** Whether its frontmatter had to be repaired. */
  repaired: boolean;
}

/** A skill with its text. */
export interface Skill extends SkillEntry {
  /** The instructions without the blank lines around them. */
  body: string;
  rawBody: string;
  /** The first byte of the body in the file. */
  bodyOffset: number;
  /** The text between the fences; null when there is none. */
  frontmatter: string | null;
  /** The frontmatter as data. */
  data: Record<string, Json>;
}

/** A skill of a library, with what was decided about it. */
export interface ListedSkill extends SkillEntry {
  source: string;
  virtualPath: string;
  preload: boolean;
  obstacle: 'broken' | 'disabled' | 'untrusted' | null;
  problems: Problem[];
}

/** A skill that functions take: one that Prowess returned, or plain fields. */
export type GivenSkill = SkillEntry | (SkillFields & { key?: string; scope?: Scope; body?: string; location?: string });

export type GivenFile = string | { path: string; size?: number; executable?: boolean; leftOut?: string };

/** A profile with other levels. */
export interface ProfileOptions {
  profile?: ProfileName;
  /** Rules with another level, by code. */
  levels?: Record<string, Level>;
  names?: 'spec' | 'ascii-kebab' | 'ascii-kebab-letter-first' | 'underscore' | 'loose';
  reservedWords?: string[];
  folderMatch?: Level;
  angleBrackets?: Level;
  unknownFields?: Level;
}

export interface CheckOptions extends Place, ProfileOptions {
  /** The files of the folder; without them, links and sizes are not checked. */
  files?: GivenFile[];
}

export function parse(text: Text, place?: Place): Skill & { loads: boolean };
export function load(text: Text, options?: CheckOptions): Skill;
export function check(text: Text, options?: CheckOptions): Problem[];
export function fix(text: Text, options?: CheckOptions & { all?: boolean }): { text: string; applied: Problem[]; problems: Problem[] };
export function findings(text: Text, options?: CheckOptions): Finding[];
export function applyFix(text: string, fix: Pick<Fix, 'edits'>): string;
export function rules(): Rule[];
export function checkName(name: string, options?: ProfileOptions): Problem[];
export function checkDescription(description: string, options?: ProfileOptions): Problem[];

export interface ToolGrant {
  raw: string;
  name: string;
  pattern: string | null;
  /** Whether it can be read with certainty; if not, it grants nothing. */
  balanced: boolean;
}
export function parseAllowedTools(value: string | Iterable<string>): { form: string; grants: ToolGrant[]; text: string };
export function allowsTool(tools: string | string[], tool: string, argument?: string): boolean;
export function scopeTools(tools: Iterable<string>, lists: Iterable<string | string[] | null | undefined>): string[];
export function parsePath(
  path: string | Uint8Array,
  options?: { reading?: 'strict' | 'request' | 'name' },
): { path: string; rule?: undefined; message?: undefined } | { path?: undefined; rule: string; message: string };
export function firstCollision(paths: Iterable<string>): [string, string] | null;

export interface CatalogStyle {
  shape?: 'xml' | 'skills-ref-xml' | 'compact' | 'markdown' | 'plain' | 'json';
  location?: boolean;
  compatibility?: boolean;
  maxDescription?: number;
  oneLine?: boolean;
  indent?: boolean;
  heading?: string;
  intro?: string;
  outro?: string;
  empty?: string;
}
export interface ActivationStyle {
  maxListed?: number;
  maxInlineBytes?: number;
  compatibility?: boolean;
  plain?: boolean;
}
export type Budget = { tokens: number } | { characters: number };
export interface RenderedCatalog {
  text: string;
  tokens: number;
  included: number;
  omitted: string[];
  shortened: number;
  within: boolean;
}
export function renderCatalog(skills: Iterable<GivenSkill>, options?: { style?: CatalogStyle; budget?: Budget | null }): RenderedCatalog;
export function renderActivation(
  skill: GivenSkill,
  options?: { folder?: string; files?: GivenFile[]; inlined?: Record<string, string>; style?: ActivationStyle },
): string;
export function compose(texts: Iterable<string>): string;
export function describe(skill: GivenSkill, files?: GivenFile[]): string;
export function toDict(text: Text, options?: Place & { whole?: boolean }): SkillFields;
export function fromDict(fields: SkillFields): Skill & { markdown: string };
export function estimateTokens(text: string): number;

export type SelectorName = 'bm25' | 'keyword' | 'tags' | 'all' | 'embedding' | 'fused';
export interface Narrowing {
  /** How many skills at most; 5 by default, null for all. */
  topK?: number | null;
  minScore?: number;
  availableTools?: string[] | null;
  onEmpty?: 'all' | 'none';
  onError?: 'all' | 'none' | 'fail';
}
export interface Hit {
  key: string;
  score: number;
  why: { term: string; insteadOf?: string; field: string; score: number }[];
}
export type Embed = (texts: string[]) => Awaitable<ArrayLike<number>[]>;
export function search(skills: Iterable<GivenSkill>, query: string, options?: Narrowing & { selector?: SelectorName; tags?: string[] }): Hit[];
export function searchByMeaning(
  skills: Iterable<GivenSkill>,
  query: string,
  embed: Embed,
  options?: Narrowing & { selector?: 'embedding' | 'fused'; tags?: string[] },
): Promise<Hit[]>;

/** Where skills come from. */
export interface Source {
  /** The name of the source, for people. */
  label?: string;
  /** Whose skills it has, unless the option `scope` says otherwise: `explicit` by default. */
  scope?: Scope;
  list(options: { signal?: AbortSignal }): Awaitable<Iterable<SourceItem> | AsyncIterable<SourceItem>>;
  /** The bytes or the text of a file; null when there is none. */
  read(id: string, path: string, options: { signal?: AbortSignal }): Awaitable<Text | null | undefined>;
  /** The files of a skill. Without it, an approval covers only SKILL.md, and no other file can be read after one. */
  files?(id: string, options: { signal?: AbortSignal }): Awaitable<Iterable<GivenFile> | AsyncIterable<GivenFile>>;
}
/** An id, or what else is known of the skill. A `text` is its SKILL.md, which is then not read. */
export type SourceItem = string | { id: string; location?: string; text?: Text };
/** A source and how its skills appear. */
export interface Layer {
  source: Source;
  prefix?: string;
  mount?: string;
  scope?: Scope;
  preload?: boolean;
  /** False for skills that may not be used before the user trusts them. */
  trusted?: boolean;
  keyFrom?: 'name' | 'id';
}
export function memorySource(skills: Record<string, Text | Record<string, Text>>, options?: { label?: string }): Source;
/** Skills behind `fetch`, of the scope `remote`: they get no tools before they are approved. */
export function fetchSource(address: string | URL, options?: { fetch?: typeof fetch; label?: string }): Source;

/** Ranks skills for a query. */
export type Select = (
  query: string,
  skills: ListedSkill[],
  options: { limit: number; tags: string[]; signal?: AbortSignal },
) => Awaitable<Iterable<string | { key: string; score?: number; why?: { term: string; field?: string; score?: number }[] }>>;

export interface Policy {
  allow?: string[];
  deny?: string[];
  filter?: string;
  bounds?: string;
  untrusted?: 'hide' | 'ask';
  scopes?: Partial<Record<Scope, { visible?: boolean; approve?: boolean; tools?: boolean }>>;
  toolMode?: 'preapprove' | 'ignore' | 'restrict';
  hostTools?: string[] | null;
  run?: boolean;
}
export interface ChatOptions {
  naming?: 'default' | 'drover' | 'promptkit' | 'deuz';
  namespace?: string;
  tools?: ('list' | 'search' | 'load' | 'unload' | 'read' | 'run')[];
  maxActive?: number;
  whenFull?: 'refuse' | 'evict-oldest';
  lifetime?: 'persistent' | 'ephemeral' | { bounded: number };
  repeat?: 'full' | 'receipt';
  hintFiles?: boolean;
  inlineResources?: boolean;
  showFolders?: boolean;
  activation?: ActivationStyle;
  maxActivationBytes?: number;
  maxKeptBytes?: number;
  catalog?: CatalogStyle;
  maxList?: number;
  maxFiles?: number;
  catalogInTool?: { style?: CatalogStyle; budget?: Budget | null };
  maxEnum?: number;
  maxResourceBytes?: number;
  tooLarge?: 'refuse' | 'list' | 'truncate' | 'page';
  maxHits?: number;
  instruction?: string;
  maxEvents?: number;
}
export interface PromptSettings {
  style?: CatalogStyle;
  /** 4 000 tokens by default; null for no limit. */
  budget?: Budget | null;
  narrowing?: Narrowing;
}
export interface ChatSettings {
  policy?: Policy;
  options?: ChatOptions;
  prompt?: PromptSettings;
}
export interface SkillsOptions extends ChatSettings {
  profile?: ProfileName;
  levels?: Record<string, Level>;
  duplicates?: 'first' | 'last' | 'error';
  /**
   * What happens when a source cannot be listed. By default (`report`) the others are offered, and the error is one of the
   * `problems` and goes to `onError` or is a warning (`SkillWarning`). With `fail` opening and refreshing reject, and so
   * they do if no source can be listed.
   */
  sourceErrors?: 'report' | 'fail';
  selector?: SelectorName | Select | { select: Select };
  embed?: Embed;
  /** Asks the user whether a skill with this digest may be used. */
  approve?(skill: ListedSkill, digest: string): Awaitable<boolean>;
  /** Runs a script; the policy must allow it too. */
  run?(
    skill: ListedSkill,
    path: string,
    args: string[],
    options: { signal?: AbortSignal; expectDigest?: string },
  ): Awaitable<{ code?: number | null; output?: string }>;
  /**
   * Gets what callbacks threw while a call was answered, and the errors of sources that cannot be listed. What it throws
   * itself is ignored.
   */
  onError?(error: unknown, effect?: Effect | { kind: 'list' }): void;
  signal?: AbortSignal;
}
export interface Delta {
  added: string[];
  changed: string[];
  removed: string[];
  newlyBroken: string[];
}
export interface Abortable {
  signal?: AbortSignal | null | undefined;
}
/** A part of a file: `limit` bytes from `offset` on. */
export interface Part {
  offset?: number;
  limit?: number;
}

/** The skills of some sources, ready for any number of chats. */
export class Skills implements Iterable<ListedSkill> {
  protected constructor();
  static open(sources: Source | Layer | (Source | Layer)[], options?: SkillsOptions): Promise<Skills>;
  /** Reads every source again. A callback of these skills that calls it gets a `BusyError`. */
  refresh(options?: Abortable): Promise<Delta>;
  /** What could not be read at the last refresh: whole sources, and single skills. */
  readonly problems: SourceError[];
  list(): ListedSkill[];
  all(): (ListedSkill & { offered: boolean; whyNot: string | null })[];
  keys(): string[];
  get(key: string): ListedSkill | undefined;
  has(key: string): boolean;
  readonly size: number;
  [Symbol.iterator](): Iterator<ListedSkill>;
  /** The files of a skill. A source that lists one that no skill can have makes it fail with a `SourceError`. */
  files(key: string, options?: Abortable): Promise<GivenFile[]>;
  read(key: string, path?: string, options?: Abortable & Part): Promise<Uint8Array>;
  readText(key: string, path?: string, options?: Abortable & Part): Promise<string>;
  search(query: string, options?: Narrowing & Abortable & { tags?: string[]; filter?: string }): Promise<Hit[]>;
  /** Starts a chat. Its first call activates the preloaded skills, before it does anything else. */
  chat(id?: string, settings?: ChatSettings): Chat;
  restore(state: string | object, settings?: ChatSettings): Chat;
  close(): void;
}

/** The result of a tool call. */
export interface ToolResult {
  ok: boolean;
  text: string;
  data: Json;
  reason: string | null;
}
export interface ToolDefinition {
  name: string;
  description: string;
  inputSchema: { [key: string]: Json };
  readOnly: boolean;
  idempotent: boolean;
  parallelSafe: boolean;
}
export interface Prompt {
  text: string;
  tokens: number;
  skills: string[];
  total: number;
  included: number;
  omitted: string[];
  shortened: number;
  notNarrowed: 'no-selector' | 'empty-query' | 'nothing-found' | 'failed' | null;
}
export interface PromptOptions extends PromptSettings, Abortable {
  query?: string;
  folder?: string;
  preloaded?: boolean;
}
export interface SessionEvent {
  number: number;
  turn: number;
  event: string;
  [detail: string]: Json;
}

/** The schema of the arguments of a tool. */
export type InputSchema = { type: 'object'; [key: string]: any };
/** A tool as each model interface takes it. */
export interface DialectTool {
  mcp: {
    name: string;
    description: string;
    inputSchema: InputSchema;
    annotations: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: boolean };
  };
  anthropic: { name: string; description: string; input_schema: InputSchema };
  openai: { type: 'function'; function: { name: string; description: string; parameters: InputSchema } };
  gemini: { functionDeclarations: { name: string; description: string; parameters: any }[] };
}
/** The answer to a call as each model interface takes it. */
export interface DialectAnswer {
  mcp: { content: { type: 'text'; text: string }[]; structuredContent?: { [key: string]: Json }; isError: boolean };
  anthropic: { type: 'tool_result'; tool_use_id: string; content: string; is_error: boolean };
  openai: { role: 'tool'; tool_call_id: string; content: string };
  gemini: { functionResponse: { name: string; id?: string; response: { [key: string]: unknown } } };
}

/** One conversation with a model. */
export class Chat {
  private constructor();
  readonly skills: Skills;
  readonly session: Session;
  prompt(options?: PromptOptions): Promise<string>;
  promptFor(query: string, options?: PromptOptions): Promise<string>;
  promptWith(options?: PromptOptions): Promise<Prompt>;
  tools<D extends Dialect = 'mcp'>(dialect?: D): DialectTool[D][];
  toolDefinitions(): ToolDefinition[];
  /** Whether a call of this name is for the chat, and not for the host. */
  owns(tool: string): boolean;
  /** Answers a call in the form of a model interface; null when it is not ours. */
  answer<D extends Dialect>(dialect: D, message: unknown, options?: Abortable): Promise<DialectAnswer[D] | null>;
  /** Answers every call of ours in a response of a model, in order. */
  answerAll<D extends Dialect>(dialect: D, response: unknown, options?: Abortable): Promise<DialectAnswer[D][]>;
  /** Answers a call of a model. Arguments that cannot be read are refused, with a text for the model. */
  call(tool: string, args?: unknown, options?: Abortable & { filter?: string }): Promise<ToolResult>;
  userMessage(message: string, options?: Abortable): Promise<ToolResult[]>;
  /** Activates a skill, for the user by default. */
  activate(
    name: string,
    options?: Abortable & { by?: 'user' | 'host'; arguments?: string; filter?: string },
  ): Promise<ToolResult>;
  /** Activates the preloaded skills, and those named here. A new chat activates the former by itself. */
  preload(names?: string[], options?: Abortable): Promise<{ name: string; result: ToolResult }[]>;
  resumePending(options?: Abortable): Promise<ToolResult[]>;
  deactivate(name: string): string[] | null;
  endTurn(): string[];
  setFilter(filter: string): string[];
  setPolicy(policy: Policy): string[];
  readonly active: string[];
  readonly activeTools: string[];
  readonly changed: string[];
  visible(by?: Actor): ListedSkill[];
  whyHidden(key: string, by?: Actor): string | null;
  scopeTools(tools: Iterable<string>): string[];
  reinject(options?: { each?: Budget; total?: Budget }): { text: string; included: string[]; cut: string[]; omitted: string[] };
  readonly log: SessionEvent[];
  readonly state: object;
  close(): void;
}

/** What a session needs from its host. */
export type Effect =
  | { kind: 'files'; key: string; location: string }
  | { kind: 'read'; key: string; location: string; path: string; offset: number; limit: number; expectDigest?: string }
  | { kind: 'search'; query: { text: string; tags: string[] }; among: string[]; limit: number }
  | { kind: 'approve'; key: string; location: string; scope: Scope }
  | { kind: 'run'; key: string; location: string; path: string; args: string[]; expectDigest?: string };
export type Outcome =
  | { files: GivenFile[] }
  | { read: { bytes: Text; size?: number; digest?: string } }
  | { hits: { key: string; score: number }[] }
  | { ran: { code: number | null; output: string } }
  | { approved: string }
  | 'declined'
  | { failed: 'missing' | 'outside' | 'not-a-file' | 'too-large' | 'broken' | 'not-as-listed' | 'failed' };
export type Step = { done: ToolResult; ticket?: undefined; effect?: undefined } | { done?: undefined; ticket: string; effect: Effect };

/** A session without input and output. */
export class Session {
  private constructor();
  call(tool: string, args?: unknown, options?: { filter?: string }): Step;
  resume(ticket: string, outcome: Outcome): Step;
  cancel(ticket: string): boolean;
  pending(): { ticket: string; effect: Effect }[];
  state(): object;
  close(): void;
}

export interface ErrorOptions {
  code?: string;
  problems?: Problem[];
  hint?: string | null;
  cause?: unknown;
}
/** The class of every error that Prowess throws. */
export class ProwessError extends Error {
  constructor(message: string, options?: ErrorOptions);
  readonly code: string;
  readonly problems: Problem[];
  /** What to do about it, if the message does not say so. */
  readonly hint: string | null;
}
export class InvalidArgumentError extends ProwessError {}
export class LoadError extends ProwessError {}
export class SourceError extends ProwessError {}
export class SelectError extends ProwessError {}
export class DuplicateSkillError extends ProwessError {}
export class RestoreError extends ProwessError {}
export class ClosedError extends ProwessError {}
/** A callback uses the skills that it serves in a way that would never end. */
export class BusyError extends ProwessError {}
