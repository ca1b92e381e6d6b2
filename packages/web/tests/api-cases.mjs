// What holds of every JavaScript package: texts, sources in JavaScript, sessions, and input that is wrong.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** Defines the tests over a package, which `specifier` imports. */
export function defineApiTests(prowess, specifier) {
  const {
    applyFix, check, ClosedError, DuplicateSkillError, fix, InvalidArgumentError, load, LoadError, memorySource, parse,
    ProwessError, renderCatalog, RestoreError, search, searchByMeaning, SelectError, Skills, SourceError,
  } = prowess;

  const skill = (name, description = `About ${name}.`, body = `Body of ${name}.`) =>
    `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`;
  const REVIEW = { 'SKILL.md': skill('review', 'Reviews code changes.'), 'references/style.md': 'Be kind.\n' };
  const shelf = () => memorySource({ review: REVIEW, tax: skill('tax', 'Files taxes.') });

  test('a problem has its place in the units of JavaScript, and its fix applies there', () => {
    const text = '---\nname: demo\ndescription: 😀 Tidies up when asked.\nallowed-tools: Read, Grep\n---\n';
    const [commas] = check(text, { folder: 'demo' });
    assert.deepEqual([commas.code, commas.severity, commas.span.line], ['tools-commas', 'warning', 4]);
    assert.equal(text.slice(commas.span.start, commas.span.end), 'Read, Grep');
    assert.match(applyFix(text, commas.fix), /\nallowed-tools: Read Grep\n---/);
    const fixed = fix(text.replace('up when asked', 'up: when asked'), { folder: 'demo' });
    assert.match(fixed.text, /description: '😀 Tidies up: when asked\.'\nallowed-tools: Read Grep/);
    assert.equal(fixed.problems.filter((problem) => problem.severity === 'error').length, 0);
  });

  test('a skill that does not load throws with every problem', () => {
    assert.throws(() => load('no frontmatter'), (error) => {
      assert.ok(error instanceof LoadError && error instanceof ProwessError && error instanceof Error);
      assert.equal(error.code, 'load');
      assert.equal(error.problems[0].severity, 'error');
      return true;
    });
    assert.equal(load(skill('a')).body, 'Body of a.');
    for (const text of ['no frontmatter', '---\nname: a\n---\n']) {
      assert.throws(() => prowess.toDict(text), (error) => error instanceof LoadError && error.problems[0].severity === 'error');
    }
  });

  test('what a check returned can be rendered and searched again', () => {
    const skills = [load(skill('review', 'Reviews code.')), load(skill('tax', 'Files taxes.'))];
    assert.match(renderCatalog(skills, { style: { shape: 'compact' } }).text, /- review: Reviews code\./);
    assert.equal(search(skills, 'tax files')[0].key, 'tax');
    const { included, omitted, within } = renderCatalog(skills, { budget: { tokens: 30 } });
    assert.ok(within && included + omitted.length === 2);
  });

  test('the order of a selector of the host is kept, before the number of hits is limited', async () => {
    const names = Array.from({ length: 10 }, (_, at) => `s${at}`);
    const files = Object.fromEntries(names.map((name) => [name, skill(name)]));
    const ordered = async (hits) => {
      const skills = await Skills.open(memorySource(files), { selector: () => hits });
      const found = await skills.search('x');
      return found.map(({ key }) => key);
    };
    assert.deepEqual(await ordered(['s9', 's8', 's7', 's6', 's5', 's4', 's3']), ['s9', 's8', 's7', 's6', 's5']);
    assert.deepEqual(await ordered([{ key: 's9', score: 0.1 }, { key: 's2', score: 0.5 }, { key: 's2', score: 9 }, 's1']), ['s9', 's2', 's1']);
  });

  test('sources, a selector and an embedder in JavaScript serve a session', async () => {
    const asked = [];
    const source = {
      label: 'mine',
      async *list() {
        yield 'review';
        yield { id: 'tax', text: skill('tax', 'Files taxes.') };
      },
      files: async () => ['SKILL.md', { path: 'references/style.md', size: 9 }],
      read: async (id, path, { signal }) => {
        asked.push([id, path, signal]);
        return path === 'SKILL.md' ? REVIEW['SKILL.md'] : new TextEncoder().encode(REVIEW[path]);
      },
    };
    const selector = { select: async (query, skills) => skills.map(({ key }) => ({ key, score: 1 })).reverse() };
    const skills = await Skills.open(source, { selector });
    assert.deepEqual([skills.size, skills.keys(), skills.has('tax')], [2, ['review', 'tax'], true]);
    assert.deepEqual((await skills.search('anything')).map(({ key }) => key), ['tax', 'review']);

    const chat = skills.chat('chat-1');
    assert.match(await chat.prompt(), /- review: Reviews code changes\./);
    assert.match(await chat.promptFor('anything', { narrowing: { topK: 1 } }), /- tax/);
    // A text that the source listed is what a model loads.
    assert.match((await skills.chat('chat-2').call('load_skill', { name: 'tax' })).text, /Body of tax\./);
    assert.match(await skills.readText('tax', 'SKILL.md'), /name: tax/);
    assert.equal(asked.some(([id, path]) => id === 'tax' && path === 'SKILL.md'), false);
    const use = { type: 'tool_use', id: 't1', name: 'load_skill', input: { name: 'review' } };
    const answer = await chat.answer('anthropic', use);
    assert.equal(answer.is_error, false);
    assert.match(answer.content, /Body of review\./);
    assert.deepEqual(chat.active, ['review']);
    const file = await chat.call('read_skill_resource', { name: 'review', path: 'references/style.md' });
    assert.match(file.text, /Be kind\./);
    assert.equal(await chat.answer('anthropic', { type: 'text', text: 'hello' }), null);
    assert.equal((await chat.answerAll('anthropic', { content: [use, use] })).length, 2);
    assert.ok(asked.length > 0);

    const letters = (texts) => texts.map((text) => ['a', 'e', 'x'].map((letter) => text.split(letter).length));
    const meant = await Skills.open(shelf(), { embed: letters, selector: 'embedding' });
    assert.equal((await meant.search('review review')).length, 2);
    const meaning = meant.chat();
    assert.match((await meaning.call('search_skills', { query: 'review review' })).text, /review/);
    assert.equal((await meaning.promptWith({ query: 'review', narrowing: { topK: 1 } })).skills.length, 1);
    const hits = await searchByMeaning([{ name: 'a', description: 'aaa' }, { name: 'x', description: 'xxx' }], 'xx', letters);
    assert.equal(hits[0].key, 'x');
  });

  test('a site behind fetch gets no tools before an approval, and nothing is read outside it', async () => {
    const site = {
      'https://site.test/s/index.json': JSON.stringify({ skills: [{ id: 'a', files: ['SKILL.md', 'x y.md'] }, 'gone', '../out'] }),
      'https://site.test/s/a/SKILL.md': skill('a').replace('\n---\nBody', '\nallowed-tools: Bash(*)\n---\nBody'),
      'https://site.test/s/a/x%20y.md': 'beside',
    };
    const requests = [];
    const fetch = async (address) => {
      requests.push(String(address));
      return address in site ? new Response(site[address]) : new Response('', { status: 404 });
    };
    const source = prowess.fetchSource('https://site.test/s/', { fetch });
    const skills = await Skills.open(source);
    assert.deepEqual([skills.keys(), skills.get('a').scope], [['a'], 'remote']);
    assert.deepEqual(skills.problems.map(({ code }) => code), ['missing', 'outside']);
    assert.equal(await skills.readText('a', 'x y.md'), 'beside');
    await assert.rejects(skills.read('a', '../../index.json'), (error) => error instanceof SourceError && error.code === 'outside');
    const chat = skills.chat();
    await chat.activate('a');
    assert.deepEqual([chat.active, chat.activeTools], [['a'], []]);
    const trusted = (await Skills.open({ source, scope: 'explicit' })).chat();
    await trusted.activate('a');
    assert.deepEqual(trusted.activeTools, ['Bash(*)']);
    assert.ok(requests.every((address) => address.startsWith('https://site.test/s/')), requests.join());
  });

  test('a call with values inside very many others spoils no other call', async () => {
    let deep = 'x';
    for (let at = 0; at < 500; at += 1) deep = at % 2 ? [deep] : { deep };
    const use = (id, input, name = 'load_skill') => ({ type: 'tool_use', id, name, input });
    const content = [use('t1', { name: 'review' }), use('t2', { name: deep }), use('t3', { deep }, 'theirs'), use('t4', { name: 'tax' })];
    const answers = await (await Skills.open(shelf())).chat().answerAll('anthropic', { content });
    assert.deepEqual(answers.map((one) => [one.tool_use_id, one.is_error]), [['t1', false], ['t2', true], ['t4', false]]);
  });

  test('a chat is stored and restored, and follows a refresh', async () => {
    const files = { a: skill('a'), b: skill('b') };
    const source = { label: 'mine', list: () => Object.keys(files), read: (id) => files[id] };
    const skills = await Skills.open([{ source, prefix: 'team' }]);
    const chat = skills.chat('one');
    await chat.activate('team:a');
    const again = skills.restore(JSON.parse(JSON.stringify(chat.state)));
    assert.deepEqual(again.active, ['team:a']);
    delete files.a;
    files.c = skill('c');
    assert.deepEqual(await skills.refresh(), { added: ['team:c'], changed: [], removed: ['team:a'], newlyBroken: [] });
    assert.deepEqual(chat.active, []);
    assert.throws(() => skills.restore('{}'), (error) => error instanceof RestoreError && error.code === 'restore');
  });

  test('an approval is bound to what was approved', async () => {
    const files = { 'SKILL.md': skill('a'), 'x.md': 'one' };
    const asked = [];
    const source = {
      list: () => ['a'], files: () => Object.keys(files), read: (_, path) => files[path],
    };
    const policy = { scopes: { explicit: { approve: true } } };
    const skills = await Skills.open(source, { policy, approve: (one, digest) => asked.push([one.key, digest]) > 0 });
    const chat = skills.chat();
    assert.equal((await chat.call('load_skill', { name: 'a' })).ok, true);
    assert.match(asked[0][1], /^sha256:[0-9a-f]{64}$/);
    files['x.md'] = 'two';
    assert.equal((await chat.call('read_skill_resource', { name: 'a', path: 'x.md' })).reason, 'changed');
    const declined = (await Skills.open(source, { policy })).chat();
    assert.equal((await declined.call('load_skill', { name: 'a' })).reason, 'not-approved');
  });

  test('wrong arguments are errors of one class that say what is wrong', async () => {
    const wrong = [
      [() => parse(7), /a string or a Uint8Array, not a number/],
      [() => parse(null), /not null/],
      [() => parse('x\ud800'), /surrogate/],
      [() => check('', 'spec'), /options must be an object, not a string/],
      [() => check('', { profil: 'spec' }), /`profil`: unknown field `profil`, expected one of `profile`,/],
      [() => check('', { profile: 'none' }), /`profile`: unknown variant `none`, expected one of `spec`/],
      [() => check('', { levels: { 'name-to-long': 'off' } }), /did you mean name-too-long/],
      [() => check('', { files: ['../x'] }), /\.\.\/x/],
      [() => renderCatalog('skills'), /must be a list/],
      [() => renderCatalog([{ name: 'a' }]), /description/],
      [() => renderCatalog([{ name: 'a', description: 'b\udc00' }]), /surrogate/],
      [() => prowess.parsePath(1), /the path must be a string/],
      [() => search([], 3), /the query must be a string/],
      [() => prowess.fromDict([]), /must be an object, not a list/],
      [() => new Skills(), /await Skills\.open/],
      [() => new prowess.Chat(), /call skills\.chat/],
      [() => new prowess.Session(), /chat\.session/],
      [() => applyFix('x'), /the edits of the fix must be a list/],
      [() => applyFix('x', { edits: [{}] }), /start, end and replacement/],
      [() => memorySource({}, 7), /options must be an object/],
      [() => prowess.fetchSource(5), /the address must be a string/],
      [() => prowess.parsePath('x', 'strict'), /options must be an object/],
      [() => prowess.compose('abc'), /must be a list, not a string/],
    ];
    for (const [work, message] of wrong) {
      assert.throws(work, (error) => {
        assert.ok(error instanceof InvalidArgumentError, `${work}: ${error.stack}`);
        assert.equal(error.code, 'invalid');
        assert.match(error.message, message);
        return true;
      });
    }
    const cycle = {};
    cycle.self = cycle;
    assert.throws(() => renderCatalog([{ name: 'a', description: 'b', cycle }]), InvalidArgumentError);
    for (const given of [null, 7, {}, { list() {} }, { source: {} }, { list() {}, read: 1 }]) {
      await assert.rejects(Skills.open(given), InvalidArgumentError);
    }
    await assert.rejects(Skills.open(shelf(), { colour: 1 }), /no such option: colour/);
    await assert.rejects(Skills.open(shelf(), { selector: 'best' }), /no such selector: best/);
    await assert.rejects(Skills.open(shelf(), { selector: 'embedding' }), /needs the option embed/);
    await assert.rejects(Skills.open({ source: shelf(), colour: 1 }), /no such option: colour/);
    const chat = (await Skills.open(shelf())).chat();
    assert.throws(() => chat.scopeTools(5), InvalidArgumentError);
    assert.throws(() => chat.scopeTools('abc'), InvalidArgumentError);
    assert.throws(() => chat.skills.watch({ signal: 5 }), InvalidArgumentError);
    await assert.rejects(chat.promptWith({ query: 5 }), InvalidArgumentError);
    await assert.rejects(chat.promptWith({ query: 'x', narrowing: 5 }), InvalidArgumentError);
    assert.throws(() => chat.skills.chat('x', { prompt: 5 }), InvalidArgumentError);
    assert.deepEqual(prowess.parsePath('a/b', null), { path: 'a/b' });
    const settings = [
      [{ options: { maxActive: 'x' } }, /`options.maxActive`: .*"x", expected a whole number$/],
      [{ options: { zz: 1 } }, /`options.zz`: unknown field `zz`, expected one of .*`maxActive`/],
      [{ options: { namespace: 'a b' } }, /a namespace has only/],
      [{ policy: { toolMode: 'x' } }, /`policy.toolMode`: unknown variant `x`, expected one of/],
    ];
    for (const [given, message] of settings) assert.throws(() => chat.skills.chat('x', given), message);
    await assert.rejects(chat.prompt({ budget: { tokens: -1 } }), /a budget has a whole number of tokens or of characters/);
  });

  test('a text with NUL and any bytes are read', () => {
    assert.equal(parse('---\nname: a\0b\ndescription: d\n---\n').loads, true);
    assert.equal(parse(Uint8Array.of(0xff, 0xfe, 0)).loads, false);
    assert.equal(parse(new Uint8Array(0)).loads, false);
    const latin = Uint8Array.from('---\nname: a\ndescription: caf\xe9\n---\n', (letter) => letter.charCodeAt(0));
    assert.throws(() => fix(latin), (error) => error instanceof InvalidArgumentError && /UTF-8/.test(error.message));
  });

  test('callbacks that throw or return nonsense become errors or refusals, and are reported', async () => {
    const boom = new Error('boom');
    await assert.rejects(Skills.open({ list: () => { throw boom; }, read: () => '' }), (error) => {
      assert.ok(error instanceof SourceError);
      assert.equal(error.cause, boom);
      return true;
    });
    for (const list of [() => 7, () => null, () => [null], () => [{}], () => ['x\ud800']]) {
      await assert.rejects(Skills.open({ list, read: () => '' }), (error) => error instanceof ProwessError);
    }
    // One file that cannot be read hides no other skill.
    const flaky = {
      list: () => ['a', 'b'],
      read: (id, path) => {
        if (id === 'b' || path !== 'SKILL.md') throw boom;
        return skill('a');
      },
    };
    const seen = [];
    const skills = await Skills.open(flaky, { onError: (error, effect) => seen.push([error, effect.kind]) });
    assert.deepEqual([skills.keys(), skills.problems.length, skills.problems[0].cause], [['a'], 1, boom]);
    const result = await skills.chat().call('read_skill_resource', { name: 'a', path: 'x.md' });
    assert.equal(result.reason, 'read-failed');
    assert.deepEqual(seen, [[boom, 'read']]);

    for (const selector of [() => { throw boom; }, () => 7, () => [{ key: 1 }], () => [{ key: 'a', score: NaN }]]) {
      const searching = await Skills.open(flaky, { selector, onError: () => {} });
      await assert.rejects(searching.search('a'), SelectError);
      assert.equal((await searching.chat().call('search_skills', { query: 'a' })).reason, 'search-failed');
      assert.equal((await searching.chat().promptWith({ query: 'a' })).notNarrowed, 'failed');
      await assert.rejects(searching.chat().promptWith({ query: 'a', narrowing: { onError: 'fail' } }), SelectError);
    }
    for (const embed of [() => { throw boom; }, () => [], () => ['x', 'y', 'z'], () => [[1], [2, 3]], () => [[NaN], [1]]]) {
      const searching = await Skills.open(flaky, { embed, selector: 'embedding' });
      await assert.rejects(searching.search('a'), SelectError);
    }
  });

  test('a callback that never settles ends with its signal, and the chat goes on', async (context) => {
    // The timers of signals do not keep Node running.
    const running = setInterval(() => {}, 1000);
    context.after(() => clearInterval(running));
    const never = new Promise(() => {});
    await assert.rejects(Skills.open({ list: () => never, read: () => '' }, { signal: AbortSignal.timeout(5) }), {
      name: 'TimeoutError',
    });
    let stuck = false;
    const source = { list: () => ['a'], read: () => (stuck ? never : skill('a')) };
    const chat = (await Skills.open(source)).chat();
    stuck = true;
    await assert.rejects(chat.call('load_skill', { name: 'a' }, { signal: AbortSignal.timeout(5) }), { name: 'TimeoutError' });
    assert.deepEqual(chat.session.pending(), []);
    stuck = false;
    assert.equal((await chat.call('load_skill', { name: 'a' })).ok, true);
    await assert.rejects(chat.call('load_skill', { name: 'a' }, { signal: AbortSignal.abort() }), { name: 'AbortError' });
  });

  test('a signal that is aborted, or is none, is refused before work begins', { timeout: 60_000 }, () => {
    const child = fileURLToPath(new URL('aborting.mjs', import.meta.url));
    const said = execFileSync(process.execPath, [child, specifier], { encoding: 'utf8', cwd: fileURLToPath(new URL('.', import.meta.url)) });
    assert.match(said, /^\d+ calls were refused or ended\n$/);
  });

  test('a signal ends a list and files that are generators', { timeout: 60_000 }, async (context) => {
    const running = setInterval(() => {}, 1000);
    context.after(() => clearInterval(running));
    const never = new Promise(() => {});
    let ended = false;
    const endless = {
      async *list() {
        yield 'a';
        await never;
      },
      read: () => skill('a'),
    };
    await assert.rejects(Skills.open(endless, { signal: AbortSignal.timeout(5) }), { name: 'TimeoutError' });
    const source = {
      list: () => ['a'],
      read: () => skill('a'),
      files: () => ({
        [Symbol.asyncIterator]: () => ({ next: () => never, return: () => { ended = true; return never; } }),
      }),
    };
    const skills = await Skills.open(source);
    await assert.rejects(skills.files('a', { signal: AbortSignal.timeout(5) }), { name: 'TimeoutError' });
    assert.ok(ended, 'the iterator is ended, and not waited for');
    await assert.rejects(skills.chat().call('load_skill', { name: 'a' }, { signal: AbortSignal.timeout(5) }), { name: 'TimeoutError' });
  });

  test('a path that leads out of a skill never reaches its source', async () => {
    const asked = [];
    const skills = await Skills.open({ list: () => ['a'], read: (_, path) => (asked.push(path), skill('a')) });
    for (const path of ['../x', '/etc/passwd', 'a/../../x', 'a\0']) {
      await assert.rejects(skills.read('a', path), (error) => error instanceof SourceError && error.code === 'outside', path);
    }
    assert.deepEqual(asked, ['SKILL.md']);
    await skills.read('a', './references//x.md');
    assert.deepEqual(asked, ['SKILL.md', 'references/x.md']);
  });

  test('what a source throws is a SourceError for the host, and bad lists too', async () => {
    const boom = Object.assign(new Error('boom'), { code: 'ENOENT' });
    const source = { list: () => ['a'], read: (_, path) => { if (path !== 'SKILL.md') throw boom; return skill('a'); }, files: () => 7 };
    const skills = await Skills.open(source);
    await assert.rejects(skills.read('a', 'x'), (error) => error instanceof SourceError && error.code === 'missing' && error.cause === boom);
    await assert.rejects(skills.files('a'), (error) => error instanceof SourceError && error.code === 'source');
    for (const item of [{ id: 'a', location: 5 }, { id: 'a', location: {}, text: skill('a') }]) {
      await assert.rejects(Skills.open({ list: () => [item], read: () => skill('a') }), SourceError);
    }
    for (const list of [() => 'abc', () => undefined]) await assert.rejects(Skills.open({ list, read: () => '' }), SourceError);
    const one = await Skills.open({ list: () => [{ id: 'a', text: 5 }, { id: 'b', text: skill('b') }], read: () => '' });
    assert.deepEqual([one.keys(), one.problems.length], [['b'], 1]);
    const sized = await Skills.open(memorySource({ a: { 'SKILL.md': skill('a'), x: 'Be kind.' } }));
    assert.equal(await sized.readText('a', 'x', { offset: 3, limit: 4 }), 'kind');
    for (const part of [{ offset: -1 }, { limit: 'x' }, { offset: NaN }]) await assert.rejects(sized.read('a', 'x', part), InvalidArgumentError);
  });

  test('vectors of queries, and of texts that are gone, are not kept', async () => {
    const files = { a: skill('a', 'The first.') };
    const asked = [];
    const embed = (texts) => (asked.push(...texts), texts.map((text) => [text.length, 1]));
    const skills = await Skills.open({ list: () => Object.keys(files), read: (id) => files[id] }, { embed });
    await skills.search('query');
    await skills.search('query');
    assert.equal(asked.filter((text) => text === 'query').length, 2);
    const first = asked.find((text) => text.includes('The first.'));
    assert.equal(asked.filter((text) => text === first).length, 1);
    for (let round = 0; round < 40; round += 1) {
      files.a = skill('a', `Number ${round}.`);
      await skills.refresh();
      await skills.search('query');
    }
    files.a = skill('a', 'The first.');
    await skills.refresh();
    await skills.search('query');
    assert.equal(asked.filter((text) => text === first).length, 2);
  });

  test('bytes that several threads share are copied before they are read', async () => {
    const shared = new Uint8Array(new SharedArrayBuffer(9));
    shared.set(new TextEncoder().encode('Be kind.\n'));
    const source = { list: () => ['a'], read: (_, path) => (path === 'SKILL.md' ? skill('a') : shared) };
    const chat = (await Skills.open(source)).chat();
    assert.match((await chat.call('read_skill_resource', { name: 'a', path: 'x.md' })).text, /Be kind\./);
  });

  test('a closed chat is closed after a refresh too', async () => {
    const skills = await Skills.open(shelf());
    const chat = skills.chat();
    chat.close();
    await skills.refresh();
    assert.throws(() => chat.active, ClosedError);
    assert.throws(() => chat.tools(), ClosedError);
    await assert.rejects(chat.call('load_skill', { name: 'tax' }), ClosedError);
  });

  test('what is closed while in use fails as closed', async () => {
    let release;
    const gate = new Promise((resolve) => { release = resolve; });
    let slow = false;
    const source = { list: () => ['a'], read: async () => (slow && (await gate), skill('a')) };
    const skills = await Skills.open(source);
    const chat = skills.chat();
    slow = true;
    const pending = chat.call('load_skill', { name: 'a' });
    chat.close();
    release();
    await assert.rejects(pending, ClosedError);
    skills.close();
    assert.throws(() => skills.list(), ClosedError);
    assert.throws(() => skills.chat(), ClosedError);
  });

  test('duplicates are shadowed, or errors if the host says so', async () => {
    const two = [memorySource({ a: skill('a', 'One.') }), memorySource({ a: skill('a', 'Two.') })];
    const skills = await Skills.open(two);
    assert.equal(skills.get('a').description, 'One.');
    assert.deepEqual(skills.all().map(({ offered }) => offered), [true, false]);
    assert.equal((await Skills.open(two, { duplicates: 'last' })).get('a').description, 'Two.');
    await assert.rejects(Skills.open(two, { duplicates: 'error' }), DuplicateSkillError);
  });

  test('many libraries and chats, one after the other', async () => {
    for (let round = 0; round < 200; round += 1) {
      const skills = await Skills.open(shelf());
      const chat = skills.chat(`chat-${round}`);
      await chat.call('load_skill', { name: 'review' });
      assert.deepEqual(chat.active, ['review']);
      chat.close();
      skills.close();
    }
  });
}
