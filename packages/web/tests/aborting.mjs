// Calls every method that takes a signal with one that ends it: `node aborting.mjs PACKAGE`. In a process of its own,
// since a rejection that nothing handles ends the process.

import assert from 'node:assert/strict';

const prowess = await import(process.argv[2]);
await prowess.init?.();
const { fetchSource, InvalidArgumentError, Skills } = prowess;

const text = '---\nname: a\ndescription: About a.\n---\nBody.\n';
const turn = () => new Promise((resolve) => setImmediate(resolve));
/** Rejects when its caller has stopped waiting. */
const late = async () => {
  for (let at = 0; at < 5; at += 1) await turn();
  throw new Error('late');
};
let broken = false;
const source = {
  list: () => (broken ? late() : ['a']),
  files: () => (broken ? late() : ['SKILL.md']),
  read: () => (broken ? late() : text),
};
const embedding = await Skills.open(source, { selector: 'embedding', embed: late });
const selecting = await Skills.open(source, { selector: late, onError: () => {} });
const chats = [embedding.chat(), selecting.chat()];
broken = true;

const call = { type: 'tool_use', id: 't', name: 'load_skill', input: { name: 'a' } };
const METHODS = {
  open: (options) => Skills.open(source, options),
  openSite: (options) => Skills.open(fetchSource('http://127.0.0.1:9/x'), options),
  ...Object.fromEntries([embedding, selecting].flatMap((skills, at) => [
    [`refresh ${at}`, (options) => skills.refresh(options)],
    [`search ${at}`, (options) => skills.search('about', options)],
    [`files ${at}`, (options) => skills.files('a', options)],
    [`read ${at}`, (options) => skills.read('a', 'x', options)],
    [`readText ${at}`, (options) => skills.readText('a', 'x', options)],
  ])),
  ...Object.fromEntries(chats.flatMap((chat, at) => [
    [`prompt ${at}`, (options) => chat.prompt({ ...options, query: 'about' })],
    [`promptFor ${at}`, (options) => chat.promptFor('about', options)],
    [`promptWith ${at}`, (options) => chat.promptWith({ ...options, query: 'about' })],
    [`answer ${at}`, (options) => chat.answer('anthropic', call, options)],
    [`answerAll ${at}`, (options) => chat.answerAll('anthropic', { content: [call] }, options)],
    [`call ${at}`, (options) => chat.call('load_skill', { name: 'a' }, options)],
    [`userMessage ${at}`, (options) => chat.userMessage('/a', options)],
    [`activate ${at}`, (options) => chat.activate('a', options)],
    [`preload ${at}`, (options) => chat.preload(['a'], options)],
  ])),
};
// The package for Node reads places by itself.
if (prowess.loadFolder !== undefined) METHODS.openFolder = (options) => Skills.open('/none/such', options);

const nameOf = (work) => work.then(() => 'done', (error) => error.name);
let calls = 0;
for (const [name, method] of Object.entries(METHODS)) {
  calls += 3;
  assert.equal(await nameOf(method({ signal: AbortSignal.abort() })), 'AbortError', name);
  // The usual slip: the controller in the place of its signal.
  for (const signal of [new AbortController(), 5]) {
    await assert.rejects(method({ signal }), InvalidArgumentError, name);
  }
  // Aborted after it began: with the reason, or with the error of what was faster.
  const control = new AbortController();
  const begun = nameOf(method({ signal: control.signal }));
  control.abort();
  assert.ok(['AbortError', 'SourceError'].includes(await begun), `${name}: ${await begun}`);
}
for (const chat of chats) {
  await assert.rejects(chat.resumePending({ signal: AbortSignal.abort() }), { name: 'AbortError' });
  await assert.rejects(chat.resumePending({ signal: new AbortController() }), InvalidArgumentError);
  assert.deepEqual(chat.session.pending(), []);
}
for (let at = 0; at < 50; at += 1) await turn();
console.log(`${calls} calls were refused or ended`);
