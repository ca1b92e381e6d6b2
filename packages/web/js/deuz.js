// The vocabulary of `@deuz-sdk/core/skills`, over the engine of Prowess. It needs no Node.
//
// The names, arguments and defaults are theirs, the behaviour is ours: docs/embed/javascript.md lists the differences.

import {
  checkDescription, checkName, parse, parsePath, parseTexts, renderCatalog, scopeTools, search, searchByMeaning,
} from './api.js';
import { InvalidArgumentError, SelectError, SourceError } from './errors.js';
import { addressOf } from './sources.js';
import { warn } from './unlisted.js';
import { needFunction, needList, needOptions, needString, presentable, typeOf } from './values.js';

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

/** Says once what is not read whole, where a function returns no issues. */
function sayingCuts() {
  const said = new Set();
  return (id, issues) => {
    for (const { field, message } of issues) {
      const text = `the skill ${id} is not read to its end: ${message}`;
      if (field !== '_' || said.has(text)) continue;
      said.add(text);
      warn(text);
    }
  };
}

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
  const skill = parseTexts(needString(raw, 'the text'));
  // A key such as `__proto__` is a key like any other.
  const metadata = Object.fromEntries(Object.entries(skill.texts).map(([key, value]) =>
    key === 'allowed-tools' ? ['allowedTools', skill.allowedTools] : [key, value]));
  const manifest = { name: skill.name, description: skill.description, metadata, body: skill.body, raw };
  if (skill.license !== null) manifest.license = skill.license;
  if (skill.allowedTools !== null) manifest.allowedTools = skill.allowedTools;
  const issues = validate
    ? [...validateSkillName(manifest.name), ...validateSkillDescription(manifest.description)]
    : [];
  // A caller must know that text is missing, also without validation.
  const cuts = skill.cuts.map((message) => ({ field: '_', message }));
  return { manifest, issues: [...cuts, ...issues] };
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
  const entries = Object.entries(needOptions(skills, 'the skills'));
  const held = new Map(entries.map(([id, given]) => {
    const { raw, resources } = needOptions(given, `the skill ${id}`);
    return [id, { raw: needString(raw, `the text of ${id}`), resources: { ...needOptions(resources, `the files of ${id}`) } }];
  }));
  const say = sayingCuts();
  return {
    async list() {
      return [...held].map(([id, { raw }]) => {
        const { manifest: { name, description }, issues } = parseSkill(raw, { validate: false });
        say(id, issues);
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
    const address = addressOf(root, path);
    const response = await fetch(address);
    if (!response.ok) throw new InvalidRequestError(`${address} returned HTTP ${response.status}`);
    return response;
  };
  return {
    scope: 'remote',
    async list() {
      const text = await (await get('index.json')).text();
      return entriesOf(text, `${root}/index.json`);
    },
    read: async (id) => (await get(`${safeId(id)}/SKILL.md`)).text(),
    readResource: async (id, rel) =>
      new Uint8Array(await (await get(`${safeId(id)}/${normalizeResourcePath(rel)}`)).arrayBuffer()),
  };
}

/** The skills of an index: a list, or an object with one as `skills`. */
function entriesOf(text, address) {
  let index;
  try {
    index = JSON.parse(text);
  } catch (cause) {
    throw new InvalidRequestError(`${address} is not JSON: ${cause.message}`, { cause });
  }
  const skills = Array.isArray(index) ? index : (index?.skills ?? []);
  if (!Array.isArray(skills)) throw new InvalidRequestError(`${address} lists no skills`);
  return skills.map((entry) => {
    if (typeof entry?.id !== 'string') throw new InvalidRequestError(`${address} lists a skill without an id`);
    return { ...entry, name: String(entry.name ?? entry.id), description: String(entry.description ?? '') };
  });
}

/** A source that has what every source has. */
function needSource(source) {
  if (typeof source?.list !== 'function' || typeof source.read !== 'function') {
    throw new InvalidArgumentError(`a source must be an object with list and read, not ${typeOf(source)}`);
  }
  return source;
}

/** The skills that a source lists. */
async function listOf(source) {
  return needList(await source.list(), 'the list of a source').map((entry) => needOptions(entry, 'a skill of a source'));
}

/** Several sources as one. The first with an id wins, or the last with `override`; lists and reads agree. */
export function mergeSkillSources(sources, opts) {
  const { override = false } = needOptions(opts);
  const layers = needList(sources, 'the sources').map((layer) => {
    const { source, prefix } = needOptions(layer, 'a source');
    return { source: needSource(source), prefix };
  });
  /** The source of each id, as it was listed last, so that a read lists nothing again. */
  let last = new Map();
  const owned = async () => {
    const owners = new Map();
    for (const { source, prefix } of layers) {
      for (const entry of await listOf(source)) {
        const id = prefix ? `${prefix}:${entry.id}` : entry.id;
        if (override || !owners.has(id)) owners.set(id, { source, own: entry.id, entry: { ...entry, id } });
      }
    }
    last = owners;
    return owners;
  };
  const owner = async (id) => {
    const found = last.get(id) ?? (await owned()).get(id);
    if (found === undefined) throw unknownSkill(id);
    return found;
  };
  return {
    ...(layers.some(({ source }) => source.scope === 'remote') ? { scope: 'remote' } : {}),
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
  needList(candidates, 'the candidates').map((candidate) => {
    const { id, ...given } = needOptions(candidate, 'a candidate');
    return { key: id, ...presentable(given, id) };
  });

const matches = (hits, usual, opts) => {
  const { topK = hits.length, threshold = usual } = needOptions(opts);
  return hits.filter(({ score }) => score > threshold).slice(0, topK).map(({ key, score }) => ({ id: key, score }));
};

/** Ranks by the share of the words of a query that a name and a description have. */
export const lexicalMatcher = {
  match(query, candidates, opts) {
    const skills = asSkills(candidates);
    const hits = search(skills, query, { selector: 'keyword', topK: null });
    const found = new Set(hits.map(({ key }) => key));
    // With a negative threshold, a skill without a word of the query counts too.
    const others = skills.map(({ key }) => key).filter((key) => !found.has(key)).sort();
    return matches([...hits, ...others.map((key) => ({ key, score: 0 }))], 0, opts);
  },
};

/** Ranks by the cosine of the vectors that a model gives. */
export function embeddingMatcher(embed) {
  needFunction(embed, 'embed');
  return {
    async match(query, candidates, opts) {
      const skills = asSkills(candidates);
      if (skills.length === 0) return [];
      return matches(await searchByMeaning(skills, query, embed, { topK: null }), -1, opts);
    },
  };
}

/** A registry over a source: its catalog, its skills, their files, and the skills that fit a query. */
export function createSkillRegistry(deps) {
  const { source, matcher = lexicalMatcher } = needOptions(deps, 'the parts of a registry');
  needSource(source);
  needFunction(matcher?.match, 'the match of a matcher');
  const catalog = async () => (await listOf(source)).map(({ id, name, description }) => ({ id, name, description }));
  const say = sayingCuts();
  return {
    catalog,
    async trigger(id) {
      const { manifest, issues } = parseSkill(await source.read(needString(id, 'the id')));
      say(id, issues);
      return manifest;
    },
    async resource(id, rel) {
      const path = normalizeResourcePath(rel);
      if (source.readResource === undefined) throw new InvalidRequestError('this source has no files beside SKILL.md');
      return source.readResource(needString(id, 'the id'), path);
    },
    async match(query, opts) {
      const found = await matcher.match(query, await catalog(), opts);
      if (Array.isArray(found)) return found;
      throw new SelectError(`the matcher returned ${typeOf(found)}, not a list`, { code: 'select' });
    },
  };
}

/** The catalog for a system prompt, escaped; empty without skills. */
export function renderSkillCatalog(candidates) {
  return renderCatalog(asSkills(candidates), { style: { shape: 'compact' } }).text;
}

/** The tools that a skill allows, by base name; all of them without a list. */
export function scopeToolsToSkill(tools, allowedTools) {
  const given = Object.entries(needOptions(tools, 'the tools'));
  const left = new Set(scopeTools(given.map(([name]) => name), [allowedTools]));
  return Object.fromEntries(given.filter(([name]) => left.has(name)));
}

/** A source of this vocabulary as one for `Skills.open`, so that it serves sessions. */
export function asSource(source, options) {
  const { label = 'deuz' } = needOptions(options);
  needSource(source);
  return {
    label,
    // The skills of fetchSkillSource get no tools before they are approved.
    ...(source.scope === 'remote' ? { scope: 'remote' } : {}),
    list: async () => (await listOf(source)).map(({ id }) => id),
    async read(id, path) {
      if (path === 'SKILL.md') return source.read(id);
      if (source.readResource === undefined) {
        throw new SourceError(`the source ${label} has no files beside SKILL.md`, { code: 'missing' });
      }
      return source.readResource(id, path);
    },
  };
}
