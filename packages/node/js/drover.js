// The vocabulary of `@drover/skills`, over the engine of Prowess.
//
// The names, arguments and defaults are theirs, the behaviour is ours: docs/embed/node.md lists the differences.

import path from 'node:path';

import { check, parse, parseAllowedTools as toolsOf, renderCatalog } from './api.js';
import { InvalidArgumentError, messageOf, ProwessError } from './errors.js';
import { listFolder, readInFolder, scanFolders } from './folders.js';
import { warn } from './unlisted.js';
import { cutTo, needFunction, needList, needOptions, needPath, needString, presentable, toBytes, toText, typeOf } from './values.js';

/** A SKILL.md that is no skill under the rules; `issues` has every reason. */
export class SkillLoadError extends ProwessError {
  constructor(filepath, issues) {
    const list = typeof issues === 'string' ? [{ field: '_', message: issues }] : [...issues];
    super(`SKILL.md at ${filepath}: ${list.map(({ field, message }) => `${field}: ${message}`).join('; ')}`, { code: 'load' });
    this.issues = list;
  }
}

/** What no mode reads past: there are no fields. */
const UNREADABLE = /^(file|frontmatter)-|^yaml-(unreadable|limit|tag|merge-key|several-documents)$|^duplicate-identity$/;
const RULES = { profile: 'spec', names: 'ascii-kebab' };
const FIELDS = ['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools'];

function modeOf(mode = 'strict') {
  if (mode !== 'strict' && mode !== 'lenient') throw new InvalidArgumentError(`the mode is strict or lenient, not ${mode}`);
  return mode;
}

/** Reads a SKILL.md: its spec and the issues. In strict mode any issue is thrown as a `SkillLoadError`. */
export function parseSkill(contents, filepath, opts) {
  return parsed(toBytes(needString(contents, 'the contents')), needString(filepath, 'the path'), needOptions(opts));
}

/** The same for the bytes of a file, of which some may be no text. */
function parsed(contents, file, { mode, skipParentDirCheck = false }) {
  const strict = modeOf(mode) === 'strict';
  const dir = path.dirname(file);
  const place = { location: file, folder: path.basename(dir) };
  const skill = parse(contents, place);
  const problems = check(contents, { ...place, ...RULES, folderMatch: skipParentDirCheck ? 'off' : 'error' });
  const errors = problems.filter(({ severity }) => severity === 'error');
  const issues = errors.map(({ field, message }) => ({ field: field ?? '_', message }));
  const unreadable = skill.frontmatter === null || errors.some(({ code }) => UNREADABLE.test(code));
  if (unreadable || (strict && issues.length > 0)) throw new SkillLoadError(file, issues);
  return { spec: specOf(skill, file, dir), warnings: issues };
}

function specOf(skill, file, dir) {
  const { name, description, license, compatibility, metadata, data, body } = skill;
  const written = data['allowed-tools'];
  const tools = Array.isArray(written) ? written.filter((tool) => typeof tool === 'string').join(' ') : written;
  const spec = { name, description: description.trim() };
  if (license !== null) spec.license = license;
  if (compatibility !== null) spec.compatibility = compatibility;
  spec.metadata = metadata;
  if (typeof tools === 'string' && tools !== '') spec.allowedTools = tools;
  const extra = Object.fromEntries(Object.entries(data).filter(([key]) => !FIELDS.includes(key)));
  return { ...spec, body, path: file, dir, extra };
}

/** Reads a SKILL.md in strict mode. */
export function parseSkillFile(contents, filepath) {
  return parseSkill(contents, filepath, { mode: 'strict' }).spec;
}

/** The tools of an `allowed-tools`, separated by spaces, commas or lines. */
export function parseAllowedTools(raw) {
  return raw === undefined || raw === '' ? [] : toolsOf(needString(raw, 'the tools')).grants.map((grant) => grant.raw);
}

/** Says what is left out where no caller listens: no skill vanishes silently. */
const warnAbout = (file, issues) => warn(new SkillLoadError(file, issues).message);

/** The skills in and below some folders. The first of two with one name counts. */
export async function scanSkillDirs(roots, opts) {
  const { filename = 'SKILL.md', maxDepth = 3, skipPrefixes = ['.', '_', 'node_modules'], mode, onIssue } = needOptions(opts);
  const how = modeOf(mode);
  if (onIssue !== undefined) needFunction(onIssue, 'onIssue');
  const leftOut = onIssue ?? warnAbout;
  const found = new Map();
  const folders = needList(roots, 'the roots').map((root) => path.resolve(needPath(root, 'a root')));
  const scanned = await scanFolders(folders, {
    fileName: needPath(filename, 'the filename'),
    maxDepth: maxDepth === Infinity ? Number.MAX_SAFE_INTEGER : maxDepth,
    skipPrefixes: needList(skipPrefixes, 'the prefixes'),
    // Only the prefixes decide what is skipped, as in drover.
    hidden: true,
  });
  for (const { files, problems } of scanned) {
    for (const { path: unread, message } of problems) leftOut(unread, [{ field: '_', message }]);
    let above;
    for (const { path: file, bytes } of files) {
      // A skill ends the walk below it; one that cannot be read does not. A folder comes before those below it.
      if (above !== undefined && file.startsWith(above)) continue;
      try {
        const { spec, warnings } = parsed(bytes, file, { mode: how });
        if (warnings.length > 0) onIssue?.(file, warnings);
        if (!found.has(spec.name)) found.set(spec.name, spec);
        above = spec.dir + path.sep;
      } catch (error) {
        if (how === 'strict' || !(error instanceof SkillLoadError)) throw error;
        leftOut(file, error.issues);
      }
    }
  }
  return [...found.values()];
}

/** A registry of skills by name. The first of two with one name counts. */
export function createSkillRegistry(skills) {
  const held = new Map();
  for (const skill of needList(skills, 'the skills')) {
    const name = needString(skill?.name, 'the name of a skill');
    if (!held.has(name)) held.set(name, skill);
  }
  const all = [...held.values()];
  return { get: (name) => held.get(name), has: (name) => held.has(name), list: () => all };
}

/** The files beside a SKILL.md, by the folder that says what they are for. */
export async function listSkillResources(spec) {
  const folders = { scripts: new Set(), references: new Set(), assets: new Set() };
  const other = new Set();
  const own = ['SKILL.md', 'skill.md', path.basename(String(spec?.path))];
  for (const file of await listFolder(needString(spec?.dir, 'the folder of the skill'))) {
    const [top, name] = file.path.split('/');
    // What is left out cannot be read, such as a link that leads out of the skill.
    if (file.leftOut !== undefined || top.startsWith('.') || name?.startsWith('.')) continue;
    if (Object.hasOwn(folders, top)) {
      if (name !== undefined) folders[top].add(name);
    } else if (!own.includes(file.path)) {
      other.add(top);
    }
  }
  const sorted = (names) => [...names].sort();
  const { scripts, references, assets } = folders;
  return { scripts: sorted(scripts), references: sorted(references), assets: sorted(assets), other: sorted(other) };
}

/** The text of a file of a skill. No path and no link leads out of the folder. */
export async function readSkillResource(spec, relativePath) {
  return textIn(spec, relativePath);
}

async function textIn(spec, relativePath, limit) {
  const folder = needString(spec?.dir, 'the folder of the skill');
  return toText(await readInFolder(folder, needString(relativePath, 'the path'), limit));
}

const refusal = (content, data) => ({ content, isError: true, data });

/** The skill of a call, or its refusal. */
function asked({ registry, allowed }, given, runId) {
  const name = typeof given === 'string' ? given : typeOf(given);
  if (!allowed.includes(given)) {
    const names = allowed.length > 0 ? allowed.join(', ') : 'none';
    return { refused: refusal(`this agent may not use the skill ${name}; it may use: ${names}`, { skill: name, reason: 'not_allowed' }) };
  }
  const skill = registry.get(name);
  if (skill !== undefined) return { skill };
  const data = { skill: name, reason: 'missing' };
  if (runId !== undefined) data.runId = runId;
  return { refused: refusal(`there is no skill ${name} here, although this agent may use it`, data) };
}

/** The registry and the names that a tool may use. */
function tooling(opts) {
  const { registry, allowed } = needOptions(opts);
  if (typeof registry?.get !== 'function') {
    throw new InvalidArgumentError(`a registry must be an object with get, not ${typeOf(registry)}`);
  }
  return { registry, allowed: needList(allowed, 'the allowed names').map((name) => needString(name, 'an allowed name')) };
}

const NAME = { type: 'string', description: 'The name of the skill, as the list of skills has it.' };

/** The tool `skill_load`: gives a skill to the model. */
export function skillLoadTool(opts) {
  const tools = tooling(opts);
  const { hintResources = true } = opts;
  return {
    id: 'skill_load',
    description: 'Loads the instructions of a skill. Call it when a task fits the description of a skill.',
    inputSchema: { type: 'object', properties: { name: NAME }, required: ['name'] },
    async execute(input, context) {
      const { skill, refused } = asked(tools, input?.name, context?.runId);
      if (refused) return refused;
      const data = { skill: skill.name, path: skill.path };
      if (!hintResources) return { content: skill.body, data };
      try {
        const resources = await listSkillResources(skill);
        return { content: skill.body + hint(skill.name, resources), data: { ...data, resources } };
      } catch {
        // The instructions are there, and files that cannot be listed do not change them.
        return { content: skill.body, data };
      }
    },
  };
}

/** Where the files of a skill are, for a model that has its instructions. */
function hint(name, { scripts, references, assets }) {
  const counts = [[scripts, 'script'], [references, 'reference'], [assets, 'asset']]
    .filter(([files]) => files.length > 0)
    .map(([files, what]) => `${files.length} ${what}${files.length === 1 ? '' : 's'}`);
  if (counts.length === 0) return '';
  const call = `skill_resource(name=${JSON.stringify(name)}`;
  return `\n\n---\nThis skill has ${counts.join(', ')}. \`${call})\` lists them, \`${call}, resource="<path>")\` reads one.`;
}

/** The tool `skill_resource`: lists the files of a skill, or reads one. */
export function skillResourceTool(opts) {
  const tools = tooling(opts);
  const { maxBytes = 65536 } = opts;
  return {
    id: 'skill_resource',
    description: 'Lists the files of a skill, or reads one of them. Call it when the instructions of a skill name a file.',
    inputSchema: {
      type: 'object',
      properties: {
        name: NAME,
        resource: { type: 'string', description: 'The path of a file in the skill. Without it, the files are listed.' },
      },
      required: ['name'],
    },
    async execute(input) {
      const { skill, refused } = asked(tools, input?.name);
      if (refused) return refused;
      const { resource } = input;
      const shown = typeof resource === 'string' ? resource : typeOf(resource);
      const data = { skill: skill.name, ...(resource ? { resource: shown } : {}) };
      try {
        if (!resource) return await listed(skill);
        return { content: await textIn(skill, resource, maxBytes), data };
      } catch (error) {
        if (error?.code === 'too-large') {
          const advice = 'read it with a tool for files, or a part of it';
          return refusal(`the file ${shown} has more than ${maxBytes} bytes; ${advice}`, { ...data, reason: 'too_large' });
        }
        const what = resource ? `the file ${shown} cannot be read` : `the files of ${skill.name} cannot be listed`;
        return refusal(`${what}: ${messageOf(error)}`, { ...data, reason: 'read_failed' });
      }
    },
  };
}

async function listed(skill) {
  const resources = await listSkillResources(skill);
  const section = (title, names, prefix) =>
    names.length > 0 ? [`## ${title}\n${names.map((name) => `- ${prefix}${name}`).join('\n')}`] : [];
  const sections = [
    ...['scripts', 'references', 'assets'].flatMap((folder) => section(folder, resources[folder], `${folder}/`)),
    ...section('other', resources.other, ''),
  ];
  return { content: sections.join('\n\n') || '(no files)', data: { skill: skill.name, resources } };
}

/** What a skill needs, as much of it as a list shows. */
const compatibilityOf = ({ compatibility }) => (typeof compatibility === 'string' ? cutTo(compatibility, 500).toWellFormed() : undefined);

/** The list of the skills that an agent may use, for its system prompt; empty without any. */
export function renderSkillsBlock(registry, allowed) {
  const tools = tooling({ registry, allowed });
  const skills = tools.allowed.map((name) => registry.get(name)).filter((skill) => skill !== undefined);
  if (skills.length === 0) return '';
  const given = skills.map((skill) => ({ ...presentable(skill), compatibility: compatibilityOf(skill) }));
  const style = {
    shape: 'markdown', heading: '## Available skills', oneLine: true, maxDescription: 200, compatibility: true,
    intro: 'Call `skill_load(name="<name>")` for the instructions of one of these:',
  };
  return `\n${renderCatalog(given, { style }).text}`;
}
