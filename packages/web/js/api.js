// The functions without state: read, check, fix, render and search skills that the caller has.

import { call } from './binding.js';
import { BusyError, InvalidArgumentError, messageOf, SelectError } from './errors.js';
import { needFunction, needList, needOptions, needString, toBytes, typeOf } from './values.js';

const PLACE = ['location', 'folder', 'file'];
export const NARROWING = ['topK', 'minScore', 'availableTools', 'onEmpty', 'onError'];

/** Takes some members out of an object; the rest is what remains. */
function take(object, names) {
  const taken = {};
  const rest = { ...object };
  for (const name of names) {
    if (rest[name] !== undefined) taken[name] = rest[name];
    delete rest[name];
  }
  return [taken, rest];
}

/** The parts of the options of a check; what is unknown is refused by the engine as a part of the profile. */
function judged(options) {
  const [place, others] = take(needOptions(options), PLACE);
  const [{ files, all }, judge] = take(others, ['files', 'all']);
  return { place, judge, files, all };
}

/** The narrowing among the options of a search, and the others. */
export function narrowed(options) {
  return take(needOptions(options), NARROWING);
}

/** The parts of the options of a search. */
function asked(query, options) {
  const [narrowing, others] = narrowed(options);
  return { query: needString(query, 'the query'), narrowing, ...others };
}

/** Reads a SKILL.md. It never fails: a broken one has as much as could be read. */
export function parse(text, place) {
  return call('parse', needOptions(place, 'the place'), toBytes(text));
}

/** Reads a SKILL.md as `parse`, with `texts`: its frontmatter with each scalar as it is written; `cuts` says what is not read. */
export function parseTexts(text) {
  return call('parseTexts', null, toBytes(text));
}

/** Loads a SKILL.md, or throws a `LoadError` with every problem. */
export function load(text, options) {
  return call('load', judged(options), toBytes(text));
}

/** The problems of a SKILL.md under a profile, each with its fix if it has one. */
export function check(text, options) {
  return call('check', judged(options), toBytes(text));
}

/** Applies the fixes, safe ones unless `all` is set: the new text, what was fixed, and what is left. */
export function fix(text, options) {
  return call('fix', judged(options), toBytes(text));
}

/** Everything that the rules find, whatever a profile makes of it. */
export function findings(text, options) {
  return call('findings', judged(options), toBytes(text));
}

/** Applies the edits of one fix to the text that it was found in. */
export function applyFix(text, fix) {
  const edits = needList(needOptions(fix, 'the fix').edits, 'the edits of the fix');
  for (const edit of edits) {
    const { start, end, replacement } = needOptions(edit, 'an edit');
    if (!Number.isInteger(start) || !Number.isInteger(end) || typeof replacement !== 'string') {
      throw new InvalidArgumentError('an edit must have start, end and replacement');
    }
  }
  edits.sort((one, other) => other.start - one.start || other.end - one.end);
  if (typeof text !== 'string') throw new InvalidArgumentError(`the text must be a string, not ${typeOf(text)}`);
  return edits.reduce((made, edit) => made.slice(0, edit.start) + edit.replacement + made.slice(edit.end), text);
}

/** Every rule, with its level in each profile. */
export function rules() {
  return call('rules');
}

/** The problems of a name by itself. */
export function checkName(name, options) {
  return call('checkName', { text: needString(name, 'the name'), judge: needOptions(options) });
}

/** The problems of a description by itself. */
export function checkDescription(description, options) {
  return call('checkDescription', { text: needString(description, 'the description'), judge: needOptions(options) });
}

/** Reads the value of `allowed-tools`: a text or a list. */
export function parseAllowedTools(value) {
  return call('tools', typeof value === 'string' ? needString(value, 'the tools') : needList(value, 'the tools'));
}

/** Whether `allowed-tools` grants a tool with an argument. */
export function allowsTool(tools, tool, argument) {
  return call('allows', { tools, tool: needString(tool, 'the tool'), argument });
}

/** The tools of the host that every list leaves; an absent list leaves all. */
export function scopeTools(tools, lists) {
  return call('scopeTools', {
    tools: needList(tools, 'the tools'),
    lists: needList(lists, 'the lists').map((list) => list ?? null),
  });
}

/** Reads a path in a skill: `{path}`, or `{rule, message}` if a rule refuses it. */
export function parsePath(path, options) {
  const { reading = 'request' } = needOptions(options);
  if (path instanceof Uint8Array) return call('path', { reading: 'bytes' }, path);
  return call('path', { path: needString(path, 'the path'), reading });
}

/** The first two paths that are one file on some file system, or null. */
export function firstCollision(paths) {
  return call('collision', needList(paths, 'the paths'));
}

/** The catalog of skills for a prompt, and its estimated tokens. */
export function renderCatalog(skills, options) {
  const { style, budget, ...others } = needOptions(options);
  return call('renderCatalog', { skills: needList(skills, 'the skills'), style, budget: budget ?? undefined, ...others });
}

/** The text that gives a skill to a model. */
export function renderActivation(skill, options) {
  return call('renderActivation', { skill, ...needOptions(options) });
}

/** Several activations as one text. */
export function compose(texts) {
  return call('compose', needList(texts, 'the texts'));
}

/** One skill in a few lines. */
export function describe(skill, files = []) {
  return call('describe', { skill, files });
}

/** The fields of a SKILL.md in the specification's form; with `whole`, its instructions and path too. */
export function toDict(text, options) {
  const { whole = false, ...place } = needOptions(options);
  return call('toDict', { place, whole }, toBytes(text));
}

/** The skill of fields in the specification's form, and its SKILL.md as `markdown`. */
export function fromDict(fields) {
  return call('fromDict', needOptions(fields, 'the fields'));
}

/** An estimate of the tokens of a text. */
export function estimateTokens(text) {
  return call('tokens', needString(text, 'the text'));
}

/** The skills that fit a query, the best first. */
export function search(skills, query, options) {
  return call('search', { skills: needList(skills, 'the skills'), asked: asked(query, options) });
}

/** The same by the vectors of a model: `embed` takes texts and returns a vector for each, at once or as a promise. */
export async function searchByMeaning(skills, query, embed, options) {
  const list = needList(skills, 'the skills');
  const { texts, vectors } = await embedded([...call('embeddedTexts', list), needString(query, 'the query')], embed);
  const wanted = { selector: 'embedding', ...needOptions(options) };
  return call('search', { skills: list, asked: { ...asked(query, wanted), vectors: { texts, vectors } } });
}

/** The vectors of texts, each asked for once, and those that were `made` because they were not known. */
export async function embedded(texts, embed, known = new Map()) {
  needFunction(embed, 'embed');
  const have = new Map(texts.map((text) => [text, known.get(text)]));
  const missing = [...have.keys()].filter((text) => have.get(text) === undefined);
  const made = new Map();
  if (missing.length > 0) {
    let vectors;
    try {
      vectors = await embed(missing);
    } catch (cause) {
      if (cause instanceof BusyError) throw cause;
      throw new SelectError(`the texts could not be embedded: ${messageOf(cause)}`, { code: 'select', cause });
    }
    if (!Array.isArray(vectors) || vectors.length !== missing.length) {
      const found = Array.isArray(vectors) ? `${vectors.length} vectors` : typeOf(vectors);
      throw new SelectError(`the embedder returned ${found} for ${missing.length} texts`, { code: 'select' });
    }
    missing.forEach((text, at) => made.set(text, numbers(vectors[at])));
  }
  return { texts, vectors: texts.map((text) => have.get(text) ?? made.get(text)), made };
}

function numbers(vector) {
  const list = Array.isArray(vector) || ArrayBuffer.isView(vector) ? Array.from(vector) : undefined;
  if (list === undefined || !list.every((value) => typeof value === 'number' && Number.isFinite(value))) {
    throw new SelectError('the embedder returned a vector with a value that is not a finite number', { code: 'select' });
  }
  return list;
}
