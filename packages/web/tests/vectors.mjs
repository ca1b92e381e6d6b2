// Runs the vectors of `conformance/` that need no files: the same code in Node and in a browser.
//
// `runVectors(prowess, load, options)` takes the package and a function that returns a file below `conformance/`: as a
// value if it is JSON, else as text.
// With `unknownSystem`, names that only some systems can store may be refused. It returns a row for each group: how many cases it has, how many were left out and why, and every fault.

import { runSessionCase } from './session-vectors.mjs';

const PROFILES = ['spec', 'skills-ref', 'anthropic', 'plugin', 'lenient'];
/** Notes about how well a skill is written, which only some vectors are about. */
const QUALITY = [
  'description-placeholder', 'description-too-short', 'description-without-when', 'body-placeholder', 'path-missing',
];
const DOCUMENTS = [
  'allowed-tools', 'body', 'descriptions', 'fences', 'fields', 'hidden-text', 'names', 'quality', 'repair', 'yaml',
];
const HOSTILE = [
  '01-billion-laughs', '05-flow-nest-2000-closed', '10-dup-top', '11-norway', '12-yaml11', '13-merge', '14-pytag',
  '15-customtag', '16-binary', '17-multidoc', '18-self-alias', '19-undefined-alias', '20-tab-indent', '21-colon-in-desc',
  '22-quoted-zero-indent', '23-surrogates', '24-lone-surrogate', '25-nul', '26-u2028', '27-bom-mid', '28-long-key',
  '30-directive', '31-tagdirective', '32-empty', '33-only-comment', '34-scalar-top', '35-seq-top', '36-trailing-dots',
  '37-anchor-on-key', '43-bare-cr', '44-asterisk-desc', '45-backtick', '46-at', '47-percent', '48-bracket-hint',
  '49-hash-in-desc', '50-block-scalar-indent-9',
];
/** Vectors that are documents, beside those in `documents/`. */
const OTHER_DOCUMENTS = ['five-systems/cases', 'skills-ref/official', 'skills-ref/probes'];
const OTHERS = ['five-systems/strict', 'tools', 'paths', 'render', 'select', 'keys', 'digests'];
/** What is not run in JavaScript, and why. The package for Node runs the `folders` of `skills-ref/official.json`. */
export const NOT_RUN = {
  'clients/': 'the views of clients are of the command', 'discover.json': 'needs folders; the package for Node runs it',
  'five-systems/recorded/': 'what other systems did; the tests of the vocabularies compare it',
  'stems.json': 'is about a function that only the core has', 'five-systems/differences.json': 'is about that record', 'skills-ref/differences.json': 'is about another record',
  'hostile-tree/': 'writes a tree, and is no vector', 'install.json': 'installations are of the command', 'sites.json': 'sites are read by the library',
  'README.md': 'describes the vectors',
};
const SESSIONS = ['activation', 'filters', 'host', 'prompts', 'resources', 'tools'];
/** How many vectors hold under WebAssembly, and how many are left out. */
export const IN_WEBASSEMBLY = { cases: 867, leftOut: 19 };
/** The files that are run. */
export const RUN = [
  ...DOCUMENTS.map((name) => `documents/${name}.json`), ...OTHER_DOCUMENTS.map((name) => `${name}.json`), ...OTHERS.map((name) => `${name}.json`),
  ...SESSIONS.map((name) => `session/${name}.json`), ...HOSTILE.map((name) => `hostile-yaml/${name}.yaml`),
];

/** A text: a string, or parts of which some are repeated. */
function text(value) {
  const part = (piece) => (typeof piece === 'string' ? piece : piece.repeat.repeat(piece.times));
  return Array.isArray(value) ? value.map(part).join('') : part(value);
}

function hex(digits) {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** The members of an object in camel case. */
function camel(object = {}) {
  const name = (key) => key.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [name(key), value]));
}

/** A value with the keys of its objects sorted, for comparing what has no order. */
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

const same = (one, other) => JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));

/** The files of a case: a path of one byte, a path with its size, a numbered pattern, or what is left out and why. */
function files(list) {
  return list.flatMap((file) => {
    if (typeof file === 'string') return [{ path: file, size: 1 }];
    if (file.left_out !== undefined) return [{ path: file.path, leftOut: file.left_out }];
    if (file.count === undefined) return [file];
    return Array.from({ length: file.count }, (_, at) => ({ path: file.path.replace('{}', at + 1), size: 1 }));
  });
}

/** The faults of a document case. */
function documentFaults(prowess, { input, input_hex: digits, folder = 'demo', file = 'SKILL.md', expect, ...rest }) {
  const bytes = digits === undefined ? text(input) : hex(digits);
  const place = folder === '' ? {} : { location: `skills/${folder}/${file}`, folder };
  const options = { ...place, levels: rest.levels, ...camel(rest.options) };
  if (rest.files !== undefined) options.files = files(rest.files);
  const faults = [];
  const compare = (what, found, expected) => {
    if (!same(found, expected)) {
      faults.push(`${what}\n    found    ${JSON.stringify(found)}\n    expected ${JSON.stringify(expected)}`);
    }
  };
  for (const [member, expected] of Object.entries(expect)) {
    if (member === 'skill') {
      const parsed = prowess.parse(bytes, place);
      const skill = { ...parsed, allowed_tools: parsed.allowedTools, body_offset: parsed.bodyOffset };
      for (const [key, value] of Object.entries(expected)) compare(key, skill[key] ?? null, value);
    } else if (member === 'places') {
      const found = prowess.findings(bytes, options);
      for (const [code, value] of Object.entries(expected)) {
        compare(code, found.find((finding) => finding.code === code)?.text ?? null, value);
      }
    } else if (member === 'fixed') {
      compare(member, prowess.fix(bytes, { ...options, profile: 'spec' }).text, expected);
    } else if (PROFILES.includes(member)) {
      const problems = prowess.check(bytes, { ...options, profile: member });
      const found = verdict(problems);
      compare(member, expected.quality === undefined ? { ...found, quality: [] } : found, expectedVerdict(expected));
      compare(`${member} loads`, loads(prowess, bytes, { ...options, profile: member }), found.errors.length === 0);
    } else {
      faults.push(`no such expectation: ${member}`);
    }
  }
  return faults;
}

const codes = (list = []) => [...new Set(list)].sort();

function verdict(problems) {
  const of = (severity, quality) =>
    codes(
      problems
        .filter((problem) => problem.severity === severity && (severity !== 'info' || QUALITY.includes(problem.code) === quality))
        .map((problem) => problem.code),
    );
  return { errors: of('error'), warnings: of('warning'), infos: of('info', false), quality: of('info', true) };
}

function expectedVerdict({ errors, warnings, infos, quality }) {
  return { errors: codes(errors), warnings: codes(warnings), infos: codes(infos), quality: codes(quality) };
}

function loads(prowess, bytes, options) {
  try {
    prowess.load(bytes, options);
    return true;
  } catch (error) {
    if (error instanceof prowess.LoadError && error.problems.length > 0) return false;
    throw error;
  }
}

function toolFaults(prowess, { text: written, items, expect }) {
  const value = written ?? items;
  const { form, grants } = prowess.parseAllowedTools(value);
  const faults = [];
  if (!same({ form, grants }, { form: expect.form, grants: expect.grants })) faults.push(JSON.stringify({ form, grants }));
  for (const { tool, argument, granted } of expect.allows ?? []) {
    if (prowess.allowsTool(value, tool, argument) !== granted) faults.push(`allows ${tool} ${argument}`);
  }
  return faults;
}

/** The rules for names that every system can store. */
const WINDOWS = ['drive', 'dash', 'reserved-character'];

function pathGroups(prowess, vectors, unknownSystem) {
  const outcome = ({ path, rule }) => (rule === undefined ? { path } : { rule });
  const fault = (found, expected, what) => (same(found, expected) ? [] : [`${what}: ${JSON.stringify(found)}`]);
  const read = (path, reading) => outcome(prowess.parsePath(path, { reading }));
  return [
    ...vectors.cases.map(({ path, strict, request }) => () => {
      const requested = read(text(path), 'request');
      const faults = fault(read(text(path), 'strict'), strict, `strict ${text(path)}`);
      // WebAssembly does not know its system, which may be Windows, so it refuses what Windows cannot store.
      if (unknownSystem && faults.length === 0 && request.path !== undefined && WINDOWS.includes(requested.rule)) {
        return `${text(path)}: needs to know the system`;
      }
      return [...faults, ...fault(requested, request, `request ${text(path)}`)];
    }),
    ...vectors.bytes.map((one) => () => fault(outcome(prowess.parsePath(hex(one.path_hex))), one.expect, one.path_hex)),
    ...vectors.names.map(({ name, expect }) => () => fault(read(name, 'name'), expect, name)),
    ...vectors.collisions.map(({ paths, expect }) => () => fault(prowess.firstCollision(paths), expect, paths)),
  ];
}

function rendered(prowess, { render, skills, skill, style, input, dict, whole, path, ...rest }) {
  const given = (one) => ({ ...one, description: text(one.description) });
  const listed = files(rest.files ?? []);
  const activation = (one) =>
    prowess.renderActivation(given(one), {
      folder: rest.folder, files: listed, inlined: rest.inlined, style: camel(style),
    });
  switch (render) {
    case 'catalog':
      return prowess.renderCatalog(skills.map(given), { style: camel(style) }).text;
    case 'activation':
      return activation(skill);
    case 'compose':
      return prowess.compose(skills.map(activation));
    case 'describe':
      return prowess.describe(given(skill), listed);
    case 'to_dict':
      return prowess.toDict(input, { whole: whole === true, location: path ?? 'a/SKILL.md' });
    case 'from_dict':
      try {
        return prowess.fromDict(dict).markdown;
      } catch (error) {
        return { error: error.message };
      }
    default:
      return `no such rendering: ${render}`;
  }
}

function renderFaults(prowess, { expect, ...vector }) {
  const wanted = typeof expect === 'string' || Array.isArray(expect) || expect.repeat !== undefined ? text(expect) : expect;
  const found = rendered(prowess, vector);
  // As text, since the order of keys counts.
  const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)];
  return one === other ? [] : [`\n    found    ${one}\n    expected ${other}`];
}

function selectFaults(prowess, { skills, query, selector, expect }) {
  const found = prowess.search(skills, query, { selector }).map(({ key, score }) => [key, score]);
  const close = ([key, score], [otherKey, other]) => key === otherKey && Math.abs(score - other) < 1e-4;
  const agrees = found.length === expect.length && found.every((hit, at) => close(hit, expect[at]));
  return agrees ? [] : [`\n    found    ${JSON.stringify(found)}\n    expected ${JSON.stringify(expect)}`];
}

async function keyFaults(prowess, { entries, key_from: keyFrom, keys }) {
  const texts = Object.entries(entries).map(([id, name]) => [
    id, `---\nname: ${name}\ndescription: Does it.\n---\nBody of ${id}.\n`,
  ]);
  const source = prowess.memorySource(Object.fromEntries(texts));
  const skills = await prowess.Skills.open([{ source, keyFrom }]);
  const found = skills.keys();
  skills.close();
  return same(found, keys) ? [] : [`found ${JSON.stringify(found)}, expected ${JSON.stringify(keys)}`];
}

/** The digest of a skill in memory, as the user is asked about it. */
async function digestFaults(prowess, { files: given, digest }) {
  const contents = Object.fromEntries(given.map(({ path, text: written }) => [path, written]));
  const source = {
    list: () => ['demo'], read: (_, path) => contents[path], files: () => given.map(({ path, executable }) => ({ path, executable })),
  };
  const asked = [];
  const skills = await prowess.Skills.open(source, {
    policy: { scopes: { explicit: { approve: true } } }, approve: (_, seen) => asked.push(seen) > 0,
  });
  const { ok } = await skills.chat().call('load_skill', { name: 'demo' });
  skills.close();
  return ok && same(asked, [digest]) ? [] : [`found ${asked}, expected ${digest}`];
}

/** Runs every group. */
export async function runVectors(prowess, load, { unknownSystem = false, place } = {}) {
  const groups = [];
  const add = async (name, cases, faultsOf) => {
    const group = { name, cases: 0, leftOut: [], faults: [] };
    for (const one of cases) {
      let faults;
      try {
        faults = await faultsOf(one);
      } catch (error) {
        faults = [error.stack ?? String(error)];
      }
      if (typeof faults === 'string') {
        group.leftOut.push(one.id === undefined ? faults : `${one.id}: ${faults}`);
      } else {
        group.cases += 1;
        group.faults.push(...faults.map((fault) => `${name}/${one.id ?? ''}: ${fault}`));
      }
    }
    groups.push(group);
  };
  /** What the strict modes of other systems reject: `spec` does so too, with these codes, or accepts it. */
  const strictModes = async () => {
    const { cases } = await load('five-systems/cases.json');
    const { rejected, not_in_the_specification: accepted } = await load('five-systems/strict.json');
    const byId = new Map(cases.map((one) => [one.id, one]));
    await add('five-systems/strict', [...rejected, ...accepted], ({ case: id, codes: expected = [] }) => {
      const { folder = 'demo', input } = byId.get(id);
      const problems = prowess.check(text(input), { folder, location: `skills/${folder}/SKILL.md`, profile: 'spec' });
      const { errors } = verdict(problems);
      const agrees = expected.length > 0 ? expected.every((code) => errors.includes(code)) : errors.length === 0;
      return agrees ? [] : [`${id}: found ${errors}, expected ${expected}`];
    });
  };
  /** YAML that attacks its reader, between fences and without: it is read, and a fix leaves no new error. */
  const hostileYaml = async () => {
    const errorsOf = (problems) => codes(problems.filter(({ severity }) => severity === 'error').map(({ code }) => code));
    await add('hostile-yaml', HOSTILE.map((id) => ({ id })), async ({ id }) => {
      const yaml = await load(`hostile-yaml/${id}.yaml`);
      return [`---\n${yaml}\n---\nbody\n`, yaml].flatMap((given) => {
        const before = errorsOf(prowess.check(given, { profile: 'spec' }));
        const made = errorsOf(prowess.fix(given, { profile: 'spec', all: true }).problems).filter((code) => !before.includes(code));
        const read = typeof prowess.parse(given).name === 'string' ? [] : ['it is not read'];
        return [...read, ...made.map((code) => `a fix leaves ${code}`)];
      });
    });
  };
  for (const name of DOCUMENTS) {
    const { cases } = await load(`documents/${name}.json`);
    await add(`documents/${name}`, cases, (one) => documentFaults(prowess, one));
  }
  for (const file of OTHER_DOCUMENTS) {
    const { cases } = await load(`${file}.json`);
    await add(file, cases, (one) => documentFaults(prowess, one));
  }
  await strictModes();
  await hostileYaml();
  await add('tools', (await load('tools.json')).cases, (one) => toolFaults(prowess, one));
  await add('paths', pathGroups(prowess, await load('paths.json'), unknownSystem), (run) => run());
  await add('render', (await load('render.json')).cases, (one) => renderFaults(prowess, one));
  await add('select', (await load('select.json')).cases, (one) => selectFaults(prowess, one));
  await add('keys', (await load('keys.json')).cases, (one) => keyFaults(prowess, one));
  await add('digests', (await load('digests.json')).cases, (one) => digestFaults(prowess, one));
  for (const name of SESSIONS) {
    const { cases } = await load(`session/${name}.json`);
    await add(`session/${name}`, cases, (one) => runSessionCase(prowess, one, { unknownSystem, place }));
  }
  return groups;
}

/** The groups as lines, and their sums. */
export function summary(groups) {
  const cases = groups.reduce((sum, group) => sum + group.cases, 0);
  const leftOut = groups.flatMap((group) => group.leftOut);
  const faults = groups.flatMap((group) => group.faults);
  const lines = groups.map((group) => `${group.name}: ${group.cases}`);
  return { cases, leftOut, faults, lines };
}
