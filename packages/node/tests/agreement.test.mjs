// The types are written by hand, so these tests hold them to the package: the same names and methods, and interfaces
// that real results have exactly.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';

import ts from 'typescript';
import * as prowess from 'prowess';

import { newFolder, skill, write } from './place.mjs';

const require = createRequire(import.meta.url);
const dist = path.dirname(require.resolve('prowess'));
const ENTRIES = { prowess: 'index', 'prowess/deuz': 'deuz-node', 'prowess/drover': 'drover', 'prowess/adapters': 'adapters', 'prowess/ai-sdk': 'ai-sdk' };
/** What only the classes of the package use of each other. */
const INTERNAL = { Session: ['handle', 'run'] };
const OPTIONS = {
  strict: true, noEmit: true, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'], types: [], skipLibCheck: false,
};

/** The members of a class as it runs: of its instances, and its own. */
function membersOf(Class) {
  const members = new Set();
  const stop = [Object.prototype, Error.prototype];
  for (let at = Class.prototype; at && !stop.includes(at); at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) members.add(name);
  }
  if (Class.prototype instanceof Error) for (const name of Object.keys(new Class('x', []))) members.add(name);
  const statics = new Set();
  for (let at = Class; at && at !== Function.prototype && at !== Error; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) statics.add(name);
  }
  const without = (set, ...names) => [...set].filter((name) => !names.includes(name)).sort();
  return { members: without(members, 'constructor', 'name', 'message', 'stack', 'cause'), statics: without(statics, 'length', 'name', 'prototype') };
}

test('the types have every name and method of the package, and no other', async (context) => {
  const files = Object.values(ENTRIES).map((name) => path.join(dist, `${name}.d.ts`));
  const program = ts.createProgram(files, OPTIONS);
  const checker = program.getTypeChecker();
  const own = (list) => list.map((symbol) => symbol.name).filter((name) => !name.startsWith('__@'));
  let compared = 0;
  for (const [specifier, entry] of Object.entries(ENTRIES)) {
    const module = require(specifier);
    const file = program.getSourceFile(path.join(dist, `${entry}.d.ts`));
    const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(file)).map((symbol) => {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      return { name: symbol.name, target };
    });
    const values = exported.filter(({ target }) => target.flags & ts.SymbolFlags.Value);
    assert.deepEqual(values.map(({ name }) => name).sort(), Object.keys(module).filter((name) => name !== '__esModule').sort(), specifier);
    for (const { name, target } of values) {
      compared += 1;
      const [declaration] = target.declarations;
      if (target.flags & ts.SymbolFlags.Class) {
        const instance = own(checker.getDeclaredTypeOfSymbol(target).getProperties());
        const errors = ['name', 'message', 'stack', 'cause'];
        const statics = own(checker.getTypeOfSymbolAtLocation(target, declaration).getProperties());
        const found = membersOf(module[name]);
        const inherited = module[name].prototype instanceof Error ? Object.getOwnPropertyNames(Error) : [];
        assert.deepEqual(instance.filter((one) => !errors.includes(one)).sort(), found.members.filter((one) => !INTERNAL[name]?.includes(one)), name);
        assert.deepEqual(statics.filter((one) => one !== 'prototype' && !inherited.includes(one)).sort(), found.statics, name);
        compared += found.members.length;
      } else if (target.flags & ts.SymbolFlags.Function) {
        const most = Math.max(...checker.getTypeOfSymbolAtLocation(target, declaration).getCallSignatures().map((signature) => signature.parameters.length));
        assert.equal(typeof module[name], 'function', name);
        assert.ok(module[name].length <= most, `${name} takes ${module[name].length} arguments, and its type ${most}`);
      }
    }
  }
  assert.equal(typeof prowess.Skills.prototype[Symbol.iterator], 'function');
  context.diagnostic(`${compared} names and methods are in both`);
});

/** Real results, each with the name of its type. */
async function results() {
  const text = '---\nname: Demo\ndescription: Use when: asked\nallowed-tools: Read, Grep\nname: Demo\n---\nSee [it](x.md).\n';
  const folder = write(newFolder(), { 'a/SKILL.md': skill('a', 'Reviews code.'), 'a/references/x.md': 'x', 'b/SKILL.md': 'broken', 'c/SKILL.md': skill('c') });
  const policy = { scopes: { explicit: { approve: true } }, run: true };
  const open = (options) => prowess.Skills.open(folder, options);
  const skills = await open();
  const chat = skills.chat();
  const [use] = [{ type: 'tool_use', id: 't', name: 'load_skill', input: { name: 'a' } }];
  const effects = [];
  for (const [session, tool, args] of [
    [skills.chat().session, 'load_skill', { name: 'a' }], [skills.chat().session, 'read_skill_resource', { name: 'a', path: 'references/x.md' }],
    [skills.chat().session, 'search_skills', { query: 'code' }], [(await open({ policy, approve: () => true })).chat().session, 'load_skill', { name: 'a' }],
  ]) {
    const step = session.call(tool, args);
    effects.push(['Step', step], ['Effect', step.effect]);
  }
  const problems = prowess.check(text, { folder: 'demo', files: ['SKILL.md'] });
  const loaded = await chat.call('load_skill', { name: 'a' });
  write(folder, { 'd/SKILL.md': skill('d') });
  const dialects = ['mcp', 'anthropic', 'openai', 'gemini'];
  return [
    ...problems.map((problem) => ['Problem', problem]), ['Problem[]', await prowess.checkFolder(path.join(folder, 'b'))],
    ['Finding[]', prowess.findings(text)], ['Rule[]', prowess.rules()], ['ReturnType<typeof prowess.fix>', prowess.fix(text)],
    ['ReturnType<typeof prowess.parse>', prowess.parse(text)], ['Skill', prowess.load(skill('a'))], ['Skill', await prowess.loadFolder(path.join(folder, 'a'))],
    ['ReturnType<typeof prowess.fromDict>', prowess.fromDict({ name: 'a', description: 'b' })],
    ['ReturnType<typeof prowess.parseAllowedTools>', prowess.parseAllowedTools('Read Bash(git:*)')],
    ['ReturnType<typeof prowess.parsePath>', prowess.parsePath('a/b')], ['ReturnType<typeof prowess.parsePath>', prowess.parsePath('../b')],
    ['ReturnType<typeof prowess.firstCollision>', prowess.firstCollision(['a', 'A'])], ['RenderedCatalog', prowess.renderCatalog(skills.list())],
    ['Hit[]', prowess.search(skills.list(), 'code')], ['Hit[]', await skills.search('reviewing code')],
    ['ListedSkill[]', skills.list()], ["ReturnType<prowess.Skills['all']>", skills.all()], ['GivenFile[]', await skills.files('a')],
    ['Delta', await skills.refresh()], ['Prompt', await chat.promptWith({ query: 'code' })], ['Prompt', await chat.promptWith()],
    ['ToolDefinition[]', chat.toolDefinitions()], ['ToolResult', loaded], ['ToolResult', await chat.call('load_skill', { name: 'none' })],
    ...dialects.map((dialect) => [`DialectTool['${dialect}'][]`, chat.tools(dialect)]),
    ["DialectAnswer['anthropic']", await chat.answer('anthropic', use)], ["DialectAnswer['mcp']", await chat.answer('mcp', { name: 'load_skill', arguments: { name: 'a' } })],
    ["DialectAnswer['openai']", await chat.answer('openai', { id: 'c', type: 'function', function: { name: 'load_skill', arguments: '{"name":"a"}' } })],
    ["DialectAnswer['gemini']", await chat.answer('gemini', { functionCall: { id: 'g', name: 'load_skill', args: { name: 'a' } } })],
    ['SessionEvent[]', chat.log], ["ReturnType<prowess.Chat['reinject']>", chat.reinject()], ["Awaited<ReturnType<prowess.Chat['preload']>>", await chat.preload(['c'])],
    ...effects,
  ];
}

test('real results have the members of their interfaces, and no other', async (context) => {
  const made = await results();
  const types = (type) => (/^(ReturnType|Awaited)/.test(type) ? type : `prowess.${type}`);
  const lines = made.map(([type, value], at) => `export const v${at}: ${types(type)} = ${JSON.stringify(value)};`);
  const name = path.join(import.meta.dirname, 'results.ts');
  const text = `import * as prowess from 'prowess';\n${lines.join('\n')}\n`;
  const host = ts.createCompilerHost(OPTIONS);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (file) => file === name || fileExists(file);
  host.readFile = (file) => (file === name ? text : readFile(file));
  host.getSourceFile = (file, version, ...rest) => (file === name ? ts.createSourceFile(file, text, version) : getSourceFile(file, version, ...rest));
  const program = ts.createProgram([name], OPTIONS, host);
  const faults = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line;
    return `${made[line - 1]?.[0] ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
  assert.deepEqual([...new Set(faults)], []);
  context.diagnostic(`${made.length} results have the members of their types`);
});
