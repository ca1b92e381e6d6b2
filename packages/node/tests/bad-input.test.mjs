// What a program can do wrong: each is an error of the right class, and never the end of the process.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';

import * as prowess from 'prowess';
import * as adapters from 'prowess/adapters';
import * as deuz from 'prowess/deuz';
import * as drover from 'prowess/drover';
import { ClosedError, InvalidArgumentError, memorySource, parse, ProwessError, Skills } from 'prowess';

import { newFolder, skill, write } from './place.mjs';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');
const folderOf = (files) => write(newFolder(), files);

/** Values of every type, some of which throw when they are used. */
const VALUES = [
  undefined, null, true, 0, -1, NaN, Infinity, 10n, '', '\0', 'x\ud800', 'x'.repeat(100_000), Symbol('s'), () => {}, [], [null], {},
  { length: 3 }, new Map(), new Date(NaN), new Uint8Array(3), new ArrayBuffer(2), /x/, new Proxy({}, { get() { throw new Error('trap'); } }),
  { toJSON() { throw new Error('no JSON'); } }, Object.create(null), new (class { get name() { throw new Error('getter'); } })(),
];

/** Calls functions with every value. What they throw is ours, or what a value of the caller threw. Returns the calls. */
async function callWithAll(functions) {
  let calls = 0;
  for (const [name, work] of functions) {
    for (const one of VALUES) {
      for (const other of [undefined, one, {}]) {
        calls += 1;
        try {
          await work(one, other);
        } catch (error) {
          const theirs = ['trap', 'getter', 'no JSON'].includes(error?.message);
          assert.ok(error instanceof ProwessError || theirs, `${name}(${typeof one}, ${typeof other}): ${error?.stack ?? String(error)}`);
        }
      }
    }
  }
  return calls;
}

/** The functions of a module, without its classes. */
const functionsOf = (module) =>
  Object.entries(module).filter(([name, value]) => typeof value === 'function' && !/^[A-Z]/.test(value.name) && name !== 'default');

test('every function takes any value of any type, and throws errors of one class', async () => {
  for (const [module, least] of [[prowess, 20], [deuz, 12], [drover, 10], [adapters, 7]]) {
    const functions = functionsOf(module);
    assert.ok(functions.length >= least, `${functions.length}`);
    await callWithAll(functions);
  }
  const chat = (await Skills.open(memorySource({ a: skill('a') }))).chat();
  await assert.rejects(adapters.answerResponses(chat, [7]), InvalidArgumentError);
  assert.deepEqual(await adapters.answerResponses(chat, [null, { type: 'message' }]), []);
});

test('every method takes any value of any type, and throws errors of one class', async () => {
  const skills = await Skills.open([folderOf({ 'a/SKILL.md': skill('a') }), memorySource({ m: skill('m') })]);
  const methodsOf = (object) => {
    const names = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(object)));
    return names.filter(([name, { value }]) => typeof value === 'function' && !['constructor', 'close'].includes(name))
      .map(([name]) => [name, (...args) => object[name](...args)]);
  };
  const shared = Object.getPrototypeOf(Skills.prototype);
  const ofSkills = Object.getOwnPropertyNames(shared).filter((name) => typeof Object.getOwnPropertyDescriptor(shared, name).value === 'function' && !['constructor', 'close', 'watch'].includes(name));
  const chat = skills.chat();
  const calls = await callWithAll([
    ...ofSkills.map((name) => [name, (...args) => skills[name](...args)]),
    ['open', (...args) => Skills.open(...args)],
    ['watch', (options) => skills.watch(options).return()],
    ...methodsOf(chat), ...methodsOf(chat.session),
    ['call load_skill', (args, options) => chat.call('load_skill', args, options)],
    ['answer anthropic', (message, options) => chat.answer('anthropic', message, options)],
  ]);
  assert.ok(calls > 2000, `${calls}`);
  assert.equal((await skills.chat().call('load_skill', { name: 'a' })).ok, true);
});

test('handles of the addon refuse what is not theirs', async () => {
  const skills = await Skills.open(memorySource({ a: skill('a') }));
  const chat = skills.chat();
  const { handle } = chat.session;
  assert.throws(() => Object.getPrototypeOf(handle).run.call({}, 'state', 'null', new Uint8Array(0)));
  assert.throws(() => handle.run('state'));
  assert.throws(() => handle.run(1, 2, 3));
  assert.throws(() => handle.run('none', 'null', new Uint8Array(0)), /no such operation/);
  assert.throws(() => new handle.constructor());
  assert.deepEqual(chat.active, []);
  chat.close();
  chat.close();
  assert.throws(() => chat.active, ClosedError);
});

test('bytes that change while they are used, and bytes that several threads share', async () => {
  const bytes = new TextEncoder().encode(skill('a'));
  const source = { list: () => [{ id: 'a', text: bytes }], read: () => bytes };
  const opening = Skills.open(source);
  bytes.fill(120);
  const skills = await opening;
  assert.ok(skills.keys().length <= 1);
  const shared = new Uint8Array(new SharedArrayBuffer(64));
  shared.set(new TextEncoder().encode('---\nname: s\ndescription: d\n---\n'));
  assert.equal(parse(shared).name, 's');
  const detached = new Uint8Array(8);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  assert.throws(() => parse(detached), InvalidArgumentError);
  const grows = new ArrayBuffer(4, { maxByteLength: 1024 });
  assert.equal(parse(new Uint8Array(grows)).loads, false);
});

test('objects that change while they are used', async () => {
  const files = { a: skill('a'), b: skill('b') };
  const options = { policy: { deny: [] } };
  const source = {
    async *list() {
      yield 'a';
      delete files.b;
      options.policy.deny = 7;
      this.read = () => { throw new Error('changed'); };
      yield 'b';
    },
    read: (id) => files[id],
  };
  const skills = await Skills.open(source, options).catch((error) => error);
  assert.ok(skills instanceof Skills || skills instanceof ProwessError);
  if (skills instanceof Skills) assert.throws(() => skills.chat(), InvalidArgumentError);
});

test('callbacks that throw, reject or never settle, over folders too', async () => {
  const folder = folderOf({ 'a/SKILL.md': skill('a') });
  const never = new Promise(() => {});
  const running = setInterval(() => {}, 1000);
  try {
    for (const selector of [() => never, { select: () => never }]) {
      const skills = await Skills.open(folder, { selector });
      await assert.rejects(skills.search('a', { signal: AbortSignal.timeout(10) }), { name: 'TimeoutError' });
      await assert.rejects(skills.chat().call('search_skills', { query: 'a' }, { signal: AbortSignal.timeout(10) }), { name: 'TimeoutError' });
      // The folder is still served.
      assert.equal((await skills.chat().call('load_skill', { name: 'a' })).ok, true);
    }
    const policy = { scopes: { explicit: { approve: true } }, run: true };
    for (const approve of [() => { throw new Error('no'); }, () => Promise.reject(new Error('no')), () => 'yes']) {
      const errors = [];
      const skills = await Skills.open(folder, { policy, approve, onError: (error) => errors.push(error) });
      assert.equal((await skills.chat().call('load_skill', { name: 'a' })).ok, false);
    }
    const stuck = await Skills.open([folder, { list: () => never, read: () => '' }], { signal: AbortSignal.timeout(10) }).catch((error) => error);
    assert.equal(stuck.name, 'TimeoutError');
    // One refresh that never ends does not hold another.
    let block = false;
    const skills = await Skills.open([folder, { list: () => (block ? never : ['m']), read: () => skill('m') }]);
    block = true;
    void skills.refresh();
    block = false;
    assert.deepEqual((await skills.refresh()).added, []);
  } finally {
    clearInterval(running);
  }
});

test('what is closed while the addon works fails as closed', async () => {
  const folder = folderOf(Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`s${at}/SKILL.md`, skill(`s${at}`)])));
  const skills = await Skills.open(folder);
  const chat = skills.chat();
  const work = [skills.refresh(), skills.search('about'), skills.read('s1'), chat.call('load_skill', { name: 's1' }), skills.files('s2')];
  skills.close();
  for (const done of await Promise.allSettled(work)) {
    assert.ok(done.reason instanceof ClosedError, done.reason?.stack ?? done.status);
  }
  for (const late of [() => skills.list(), () => skills.chat(), () => skills.keys(), () => skills.restore('{}')]) {
    assert.throws(late, ClosedError);
  }
  await assert.rejects(skills.refresh(), ClosedError);
  assert.throws(() => skills.watch(), ClosedError);
  skills.close();
});

test('many calls at once on one chat and one folder', async () => {
  const folder = folderOf(Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`s${at}/SKILL.md`, skill(`s${at}`)])));
  const skills = await Skills.open(folder);
  const chat = skills.chat();
  const calls = Array.from({ length: 200 }, (_, at) => chat.call('load_skill', { name: `s${at % 50}` }));
  const others = Array.from({ length: 20 }, () => skills.refresh());
  const results = await Promise.all(calls);
  await Promise.all(others);
  assert.ok(results.every(({ ok }) => ok));
  assert.equal(chat.active.length, 50);
});

test('garbage collection in the middle of everything', async () => {
  const folder = folderOf({ 'a/SKILL.md': skill('a'), 'a/x.md': 'x' });
  const source = { list: async () => { gc(); return ['m']; }, read: async () => { gc(); return skill('m'); } };
  for (let round = 0; round < 30; round += 1) {
    const work = Skills.open([folder, source]).then((skills) => {
      gc();
      return skills.chat().call('load_skill', { name: round % 2 ? 'a' : 'm' });
    });
    gc();
    assert.equal((await work).ok, true);
  }
  for (let round = 0; round < 5; round += 1) {
    // A watch that is dropped without an end.
    const watch = (await Skills.open(folder)).watch();
    void watch.next();
    await watch.return();
  }
  gc();
});

test('libraries that were closed keep nothing alive', { timeout: 60_000 }, async () => {
  const folder = folderOf({ 'a/SKILL.md': skill('a', 'Does a.', 'x'.repeat(50_000)) });
  const held = [];
  for (let round = 0; round < 100; round += 1) {
    const source = memorySource({ m: skill('m', 'Does m.', 'y'.repeat(50_000)) });
    const skills = await Skills.open([folder, source]);
    const chat = skills.chat();
    await chat.call('load_skill', { name: 'a' });
    await skills.read('a');
    await skills.search('does');
    chat.close();
    skills.close();
    held.push(...[source, skills, chat].map((value) => new WeakRef(value)));
  }
  // The addon holds a source for as long as its library lives. The last round may still be on the stack.
  const alive = () => held.slice(0, -3).filter((value) => value.deref() !== undefined).length;
  while (alive() > 0) {
    await new Promise(setImmediate);
    gc();
  }
});

const worker = (body) => `
  const { parentPort, workerData } = require('node:worker_threads');
  const prowess = require('prowess');
  (async () => { ${body} })().then((value) => parentPort.postMessage({ value }), (error) => parentPort.postMessage({ error: error.stack }));
`;

test('several worker threads use the package at once', { timeout: 60_000 }, async () => {
  const folder = folderOf({ 'a/SKILL.md': skill('a') });
  const body = `
    const skills = await prowess.Skills.open([workerData, prowess.memorySource({ m: '---\\nname: m\\ndescription: d\\n---\\n' })]);
    for (let round = 0; round < 20; round += 1) { await skills.refresh(); await skills.search('a'); }
    const error = await prowess.Skills.open('/none/here').catch((error) => error);
    if (!(error instanceof prowess.SourceError)) throw error;
    return (await skills.chat().call('load_skill', { name: 'a' })).ok;`;
  const run = () => new Promise((resolve, reject) => {
    const thread = new Worker(worker(body), { eval: true, workerData: folder });
    thread.once('message', resolve);
    thread.once('error', reject);
  });
  for (const { value, error } of await Promise.all(Array.from({ length: 4 }, run))) assert.equal(value, true, error);
  assert.equal((await Skills.open(folder)).size, 1);
});

test('a worker thread that ends in the middle leaves the process alive', { timeout: 60_000 }, async () => {
  const folder = folderOf({ 'a/SKILL.md': skill('a') });
  const body = `
    const skills = await prowess.Skills.open(workerData);
    (async () => { for await (const delta of skills.watch()) parentPort.postMessage({ delta }); })();
    for (;;) { void skills.refresh(); void skills.search('a'); await skills.read('a'); parentPort.postMessage({ value: 'working' }); }`;
  for (let round = 0; round < 5; round += 1) {
    const thread = new Worker(worker(body), { eval: true, workerData: folder });
    const { value, error } = await new Promise((resolve) => thread.once('message', resolve));
    assert.equal(value, 'working', error);
    await thread.terminate();
  }
  assert.equal((await Skills.open(folder)).size, 1);
});

test('a process ends while the addon works, and by itself when nothing is left', { timeout: 60_000 }, () => {
  const folder = folderOf({ 'a/SKILL.md': skill('a') });
  const run = (body) =>
    execFileSync(process.execPath, ['--input-type=module', '-e', `import { Skills } from 'prowess'; const skills = await Skills.open(${JSON.stringify(folder)}); ${body}`], {
      cwd: import.meta.dirname, encoding: 'utf8', timeout: 30_000,
    });
  assert.equal(run("console.log('done')"), 'done\n');
  assert.equal(run("void skills.refresh(); void skills.search('a'); const watch = skills.watch(); void watch.next(); console.log('done'); process.exit(0)"), 'done\n');
  assert.equal(run("const watch = skills.watch(); const next = watch.next(); skills.close(); await next.catch((error) => console.log(error.code))"), 'closed\n');
});

test('an abort frees the threads that wait for a site that never answers', { timeout: 120_000 }, async () => {
  const held = new Set();
  const server = createServer((request, response) => {
    response.setHeader('connection', 'close');
    if (request.url === '/held') return response.end(String(held.size));
    held.add(response);
    response.on('close', () => held.delete(response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${server.address().port}`;
  // Twice as many as Node has threads, which also read its files. The signal comes when all of them wait.
  const body = `
    import { readFile } from 'node:fs/promises';
    import { Skills } from 'prowess';
    const held = async () => Number(await (await fetch('${origin}/held')).text());
    const control = new AbortController();
    const opening = Array.from({ length: 8 }, () => Skills.open('${origin}/skills', { signal: control.signal }).catch(({ name }) => name));
    while ((await held()) < 4) await new Promise(setImmediate);
    control.abort();
    const names = new Set(await Promise.all(opening));
    await readFile(${JSON.stringify(new URL(import.meta.url).pathname)});
    console.log([...names].join(), (await held()) >= 4);
  `;
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', body], { cwd: import.meta.dirname, env: { ...process.env, UV_THREADPOOL_SIZE: '4' } });
    assert.equal(stdout, 'AbortError true\n');
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
