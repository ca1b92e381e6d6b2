// The vocabulary of `@deuz-sdk/core/skills`, over the engine of Prowess. It needs no Node.
//
// The names, arguments and defaults are theirs, the behaviour is ours: docs/embed/javascript.md lists the differences.

import {
  checkDescription, checkName, parse, parsePath, renderCatalog, scopeTools, search, searchByMeaning,
} from './api.js';
import { InvalidArgumentError, SourceError } from './errors.js';
import { needFunction, needOptions, needString, typeOf } from './values.js';

/** A request that cannot be answered: a path that leads out of its skill, or a skill that does not exist. */
export class InvalidRequestError extends InvalidArgumentError {
  constructor(given, options = {}) {
    super(typeof given === 'string' ? given : given.message, { ...options, code: 'invalid_request' });
    this.status = 400;
  }
}

/** Their limits for names: ASCII, no reserved words, no angle brackets. */
const NAMES = { names: 'loose', reservedWords: ['anthropic', 'claude'], angleBrackets: 'error' };
const DESCRIPTIONS = { angleBrackets: 'error' };

const issuesOf = (field, problems) =>
  problems.filter((problem) => problem.severity === 'error').map(({ message }) => ({ field, message }));

/** What is wrong with a name. */
export function validateSkillName(name) {
  return issuesOf('name', checkName(name, NAMES));
}

/** What is wrong with a description. */
export function validateSkillDescription(description) {
  return issuesOf('description', checkDescription(description, DESCRIPTIONS));
}

/** The frontmatter of a SKILL.md and what follows it; null and the whole text when there is none. */
export function splitFrontmatter(raw) {
  const { frontmatter, rawBody } = parse(needString(raw, 'the text'));
  return frontmatter === null ? { frontmatter, body: raw.replace(/^\uFEFF/, '') } : { frontmatter, body: rawBody };
}

/** Reads a SKILL.md. It never throws about the contents: `issues` says what is wrong. */
export function parseSkill(raw, options) {
  const { validate = true } = needOptions(options);
  const skill = parse(needString(raw, 'the text'));
  const metadata = {};
  for (const [key, value] of Object.entries(skill.data)) {
    if (key === 'allowed-tools') metadata.allowedTools = skill.allowedTools;
    else metadata[key] = value;
  }
  const manifest = { name: skill.name, description: skill.description, metadata, body: skill.body, raw };
  if (skill.license !== null) manifest.license = skill.license;
  if (skill.allowedTools !== null) manifest.allowedTools = skill.allowedTools;
  const issues = validate
    ? [...validateSkillName(manifest.name), ...validateSkillDescription(manifest.description)]
    : [];
  return { manifest, issues };
}

/** A path in a skill, normalized; a path that leads out of it is refused. */
export function normalizeResourcePath(rel) {
  const { path, message } = parsePath(needString(rel, 'the path').replaceAll('\\', '/'));
  if (path === undefined) throw new InvalidRequestError(message);
  return path;
}

/** An id of a skill that is used in a path. */
function safeId(id) {
  const { path, message } = parsePath(needString(id, 'the id'), { reading: 'strict' });
  if (path === undefined) throw new InvalidRequestError(message);
  return path;
}

const unknownSkill = (id) => new InvalidRequestError(`there is no skill ${id}`);
const unknownResource = (id, rel) => new InvalidRequestError(`the skill ${id} has no file ${rel}`);

/** A source over a map of ids: `{raw, resources}`. */
export function staticSkillSource(skills) {
  const held = new Map(Object.entries(needOptions(skills, 'the skills')));
  return {
    async list() {
      return [...held].map(([id, { raw }]) => {
        const { name, description } = parseSkill(raw, { validate: false }).manifest;
        return { id, name: name || id, description };
      });
    },
    async read(id) {
      if (!held.has(id)) throw unknownSkill(id);
      return held.get(id).raw;
    },
    async readResource(id, rel) {
      const path = normalizeResourcePath(rel);
      const resources = held.get(id)?.resources ?? {};
      if (!Object.hasOwn(resources, path)) throw unknownResource(id, rel);
      return resources[path];
    },
  };
}

/** A source behind fetch: `index.json`, `id/SKILL.md` and `id/path` below an address. */
export function fetchSkillSource(baseUrl, fetchImpl) {
  const root = needString(baseUrl, 'the address').replace(/\/+$/, '');
  const fetch = needFunction(fetchImpl ?? globalThis.fetch?.bind(globalThis), 'fetch');
  const get = async (path) => {
    const address = `${root}/${path.split('/').map(encodeURIComponent).join('/')}`;
    const response = await fetch(address);
    if (!response.ok) throw new InvalidRequestError(`${address} returned HTTP ${response.status}`);
    return response;
  };
  return {
    async list() {
      const index = await (await get('index.json')).json();
      return Array.isArray(index) ? index : (index?.skills ?? []);
    },
    read: async (id) => (await get(`${safeId(id)}/SKILL.md`)).text(),
    readResource: async (id, rel) =>
      new Uint8Array(await (await get(`${safeId(id)}/${normalizeResourcePath(rel)}`)).arrayBuffer()),
  };
}

/** Several sources as one. The first with an id wins, or the last with `override`; lists and reads agree. */
export function mergeSkillSources(sources, opts) {
  const { override = false } = needOptions(opts);
  const layers = [...sources].map(({ source, prefix }) => ({ source, prefix }));
  const owned = async () => {
    const owners = new Map();
    for (const { source, prefix } of layers) {
      for (const entry of await source.list()) {
        const id = prefix ? `${prefix}:${entry.id}` : entry.id;
        if (override || !owners.has(id)) owners.set(id, { source, own: entry.id, entry: { ...entry, id } });
      }
    }
    return owners;
  };
  const owner = async (id) => {
    const found = (await owned()).get(id);
    if (found === undefined) throw unknownSkill(id);
    return found;
  };
  return {
    list: async () => [...(await owned()).values()].map(({ entry }) => entry),
    async read(id) {
      const { source, own } = await owner(id);
      return source.read(own);
    },
    async readResource(id, rel) {
      const { source, own } = await owner(id);
      if (source.readResource === undefined) throw unknownResource(id, rel);
      return source.readResource(own, rel);
    },
  };
}

/** The candidates as skills; one without a description is found by its name. */
const asSkills = (candidates) =>
  [...candidates].map(({ id, name, description }) => ({
    key: id, name: name || id, description: description?.trim() ? description : name || id,
  }));

const matches = (hits, usual, opts) => {
  const { topK = hits.length, threshold = usual } = needOptions(opts);
  return hits.filter(({ score }) => score > threshold).slice(0, topK).map(({ key, score }) => ({ id: key, score }));
};

/** Ranks by the share of the words of a query that a name and a description have. */
export const lexicalMatcher = {
  match(query, candidates, opts) {
    return matches(search(asSkills(candidates), query, { selector: 'keyword', topK: null }), 0, opts);
  },
};

/** Ranks by the cosine of the vectors that a model gives. */
export function embeddingMatcher(embed) {
  needFunction(embed, 'embed');
  return {
    async match(query, candidates, opts) {
      if (candidates.length === 0) return [];
      return matches(await searchByMeaning(asSkills(candidates), query, embed, { topK: null }), -1, opts);
    },
  };
}

/** A registry over a source: its catalog, its skills, their files, and the skills that fit a query. */
export function createSkillRegistry({ source, matcher = lexicalMatcher } = {}) {
  if (source === undefined) throw new InvalidArgumentError(`a registry needs a source, not ${typeOf(source)}`);
  const catalog = async () => (await source.list()).map(({ id, name, description }) => ({ id, name, description }));
  return {
    catalog,
    trigger: async (id) => parseSkill(await source.read(id)).manifest,
    async resource(id, rel) {
      const path = normalizeResourcePath(rel);
      if (source.readResource === undefined) throw new InvalidRequestError('this source has no files beside SKILL.md');
      return source.readResource(id, path);
    },
    match: async (query, opts) => matcher.match(query, await catalog(), opts),
  };
}

/** The catalog for a system prompt, escaped; empty without skills. */
export function renderSkillCatalog(candidates) {
  return renderCatalog(asSkills(candidates), { style: { shape: 'compact' } }).text;
}

/** The tools that a skill allows, by base name; all of them without a list. */
export function scopeToolsToSkill(tools, allowedTools) {
  const names = Object.keys(needOptions(tools, 'the tools'));
  const left = new Set(scopeTools(names, [allowedTools]));
  return Object.fromEntries(Object.entries(tools).filter(([name]) => left.has(name)));
}

/** A source of this vocabulary as one for `Skills.open`, so that it serves sessions. */
export function asSource(source, { label = 'deuz' } = {}) {
  return {
    label,
    list: async () => (await source.list()).map(({ id }) => id),
    async read(id, path) {
      if (path === 'SKILL.md') return source.read(id);
      if (source.readResource === undefined) {
        throw new SourceError(`the source ${label} has no files beside SKILL.md`, { code: 'missing' });
      }
      return source.readResource(id, path);
    },
  };
}
