// What callbacks of a host do wrong in every JavaScript package, and what becomes of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { BUSY, manyCalls, nestedUses } from './nested.mjs';

/** Defines the tests over a package. */
export function defineCallbackTests(prowess) {
  const { BusyError, InvalidArgumentError, parse, ProwessError, SelectError, Skills, SourceError } = prowess;

  const skill = (name) => `---\nname: ${name}\ndescription: About ${name}.\n---\nBody of ${name}.\n`;
  const sourceOf = (parts) => ({ list: () => ['a'], read: () => skill('a'), ...parts });

  test('a callback that always uses the skills that it serves is busy, and ends', { timeout: 60_000 }, async () => {
    assert.deepEqual(await nestedUses(prowess), BUSY);
    const error = new BusyError('x');
    assert.ok(error instanceof ProwessError && error.code === 'busy');
  });

  test('calls that only wait at the same time are not busy', { timeout: 60_000 }, async () => {
    assert.equal(await manyCalls(prowess), 800);
  });

  test('a callback may use the skills that it serves, and refresh them when it is done', async () => {
    let skills;
    let later;
    const read = async (id, path) => {
      if (path === 'SKILL.md') return skill(id);
      if (path === 'inner.md') return 'inner';
      later = new Promise((resolve) => { setImmediate(() => resolve(skills.refresh())); });
      return skills.read(id, 'inner.md');
    };
    skills = await Skills.open(sourceOf({ read }));
    assert.equal(await skills.readText('a', 'outer.md'), 'inner');
    assert.deepEqual((await later).added, []);
  });

  test('a callback that waits for the chat that waits for it is busy', { timeout: 60_000 }, async () => {
    let chat;
    const errors = [];
    const approve = async () => {
      await new Promise((resolve) => { setImmediate(resolve); });
      await chat.prompt();
      return true;
    };
    const options = { policy: { scopes: { explicit: { approve: true } } }, approve, onError: (error) => errors.push(error) };
    chat = (await Skills.open({ source: sourceOf({}), preload: true }, options)).chat();
    await chat.prompt();
    assert.ok(errors.length > 0 && errors.every((error) => error instanceof BusyError));
  });

  test('callbacks may throw anything, and the error has the class of what failed', async () => {
    const odd = [
      Symbol('odd'), Object.create(null), { toString() { throw 1; } }, { get message() { throw 1; } }, { get code() { throw 1; } },
      null, undefined, 0, 'text', { message: 5 },
    ];
    for (const thrown of odd) {
      const fails = () => { throw thrown; };
      const rejects = () => Promise.reject(thrown);
      for (const fail of [fails, rejects]) {
        await assert.rejects(Skills.open(sourceOf({ list: fail })), (error) => error instanceof SourceError && error.cause === thrown);
        const broken = await Skills.open(sourceOf({ read: fail }));
        assert.deepEqual([broken.size, broken.problems[0] instanceof SourceError], [0, true]);
        const skills = await Skills.open(sourceOf({ files: fail, read: (_, path) => (path === 'SKILL.md' ? skill('a') : fail()) }));
        await assert.rejects(skills.files('a'), SourceError);
        await assert.rejects(skills.read('a', 'x'), SourceError);
        assert.equal((await skills.chat().call('read_skill_resource', { name: 'a', path: 'x' })).reason, 'read-failed');
        await assert.rejects((await Skills.open(sourceOf({}), { selector: fail })).search('a'), SelectError);
        await assert.rejects((await Skills.open(sourceOf({}), { embed: fail })).search('a'), SelectError);
      }
    }
  });

  test('a source that cannot be listed hides no other, and is said', async () => {
    const boom = new Error('boom');
    let down = true;
    const flaky = { label: 'flaky', list: () => { if (down) throw boom; return ['b']; }, read: () => skill('b') };
    const errors = [];
    const onError = (...told) => errors.push(told);
    const skills = await Skills.open([flaky, sourceOf({})], { onError });
    assert.deepEqual(skills.keys(), ['a']);
    const [problem] = skills.problems;
    assert.ok(problem instanceof SourceError && problem.cause === boom && problem.message.includes('flaky'));
    assert.deepEqual(errors, [[problem, { kind: 'list' }]]);
    assert.deepEqual((await skills.search('body')).map(({ key }) => key), ['a']);
    // Each is said once until it can be listed again.
    await skills.refresh();
    assert.equal(errors.length, 1);
    down = false;
    assert.deepEqual((await skills.refresh()).added, ['b']);
    assert.deepEqual(skills.problems, []);
    const chat = skills.chat();
    await chat.activate('b');
    const { state } = chat;
    down = true;
    assert.deepEqual((await skills.refresh()).removed, ['b']);
    assert.equal(errors.length, 2);
    assert.deepEqual(skills.restore(state).active, []);
  });

  test('sourceErrors decides whether a source that cannot be listed is an error', async () => {
    const boom = new Error('boom');
    const down = sourceOf({ list: () => { throw boom; } });
    const fails = (error) => error instanceof SourceError && error.cause === boom;
    await assert.rejects(Skills.open([down, sourceOf({})], { sourceErrors: 'fail' }), fails);
    for (const sourceErrors of ['report', 'fail', undefined]) {
      await assert.rejects(Skills.open([down, down], { sourceErrors, onError: () => {} }), fails);
    }
    for (const wrong of ['ignore', 5, null]) await assert.rejects(Skills.open(sourceOf({}), { sourceErrors: wrong }), InvalidArgumentError);
  });

  test('an onError that throws or rejects is ignored', async () => {
    const fail = () => { throw new Error('x'); };
    const source = sourceOf({ read: (_, path) => (path === 'SKILL.md' ? skill('a') : fail()) });
    for (const onError of [() => { throw new Error('in onError'); }, async () => { throw new Error('in onError'); }]) {
      const chat = (await Skills.open(source, { onError })).chat();
      assert.equal((await chat.call('read_skill_resource', { name: 'a', path: 'b' })).reason, 'read-failed');
      assert.deepEqual(chat.session.pending(), []);
    }
  });

  test('a file that no skill can have is an error of its source, and is reported', async () => {
    const wrong = [
      '../../etc/passwd', '/x', 'x\ny', 'x\ud800', 5, null, {}, { path: 5 }, { path: '../x' }, { path: 'x', size: -1 },
      { path: 'x', size: 1.5 }, { path: 'x', size: '5' }, { path: 'x', leftOut: 5 },
    ];
    for (const file of wrong) {
      const errors = [];
      const skills = await Skills.open(sourceOf({ files: () => ['SKILL.md', file] }), { onError: (error) => errors.push(error) });
      await assert.rejects(skills.files('a'), (error) => error instanceof SourceError && error.code === 'source', JSON.stringify(file));
      const chat = skills.chat();
      assert.equal((await chat.call('load_skill', { name: 'a' })).ok, true);
      const { ok, text } = await chat.call('read_skill_resource', { name: 'a' });
      assert.deepEqual([ok, /leads out/.test(text)], [false, false], text);
      assert.ok(errors.length === 2 && errors.every((error) => error instanceof SourceError));
    }
    const named = await Skills.open(sourceOf({ files: () => ['../../etc/passwd'] }));
    await assert.rejects(named.files('a'), /etc\/passwd/);
    const files = ['SKILL.md', { path: 'x', size: 1, executable: true }, { path: '..', leftOut: 'a link' }];
    assert.deepEqual(await (await Skills.open(sourceOf({ files: () => files }))).files('a'), files);
  });

  test('a session refuses files that no skill can have', async () => {
    const { session } = (await Skills.open(sourceOf({}))).chat();
    const { ticket, effect } = session.call('read_skill_resource', { name: 'a' });
    assert.equal(effect.kind, 'files');
    assert.throws(() => session.resume(ticket, { files: ['../x'] }), (error) => error instanceof InvalidArgumentError && /\.\.\/x/.test(error.message));
    assert.equal(session.resume(ticket, { files: ['SKILL.md'] }).done.ok, true);
  });

  test('a score that is not a finite number is an error of the selector', async () => {
    for (const score of [Infinity, -Infinity, NaN, '1', 1n]) {
      const skills = await Skills.open(sourceOf({}), { selector: () => [{ key: 'a', score }] });
      await assert.rejects(skills.search('a'), SelectError, String(score));
    }
  });

  test('bytes whose buffer was transferred away are an error', async () => {
    const gone = () => {
      const bytes = new TextEncoder().encode(skill('a'));
      structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
      return bytes;
    };
    assert.throws(() => parse(gone()), InvalidArgumentError);
    assert.throws(() => parse(gone().buffer), InvalidArgumentError);
    for (const source of [sourceOf({ read: gone }), { list: () => [{ id: 'a', text: gone() }], read: gone }]) {
      const { size, problems } = await Skills.open(source);
      assert.deepEqual([size, problems.length], [0, 1]);
      assert.match(problems[0].message, /transferred/);
    }
    // After its list is read, a source may do with its bytes what it likes.
    const kept = new TextEncoder().encode(skill('a'));
    const source = {
      async *list() {
        yield { id: 'a', text: kept };
        yield { id: 'b', text: skill('b') };
      },
      read: async () => { throw new Error('not read'); },
    };
    const opening = Skills.open([source, { list: () => { kept.fill(0); return []; }, read: () => '' }]);
    assert.deepEqual((await opening).keys(), ['a', 'b']);
  });
}
