// What chats do in every JavaScript package: approvals, preloaded skills, tools, and what ends while it is under way.

import assert from 'node:assert/strict';
import { test } from 'node:test';

/** Defines the tests over a package. */
export function defineChatTests(prowess) {
  const { ClosedError, InvalidArgumentError, memorySource, SelectError, Skills } = prowess;

  const skill = (name, description = `About ${name}.`, more = '') =>
    `---\nname: ${name}\ndescription: ${description}\n${more}---\nBody of ${name}.\n`;
  const ASKING = { scopes: { explicit: { approve: true } } };
  /** A promise that a test settles. */
  const gate = () => {
    let open;
    const passed = new Promise((resolve) => { open = resolve; });
    return { open, passed };
  };
  /** Opens a source whose skills need an approval, which is given, and loads the skill `a`. */
  const approved = async (source, options) => {
    const asked = [];
    const approve = (one, digest) => asked.push(digest) > 0;
    const chat = (await Skills.open(source, { policy: ASKING, approve, onError: () => {}, ...options })).chat();
    return { asked, chat, loaded: await chat.call('load_skill', { name: 'a' }) };
  };
  const reading = (chat, path) => chat.call('read_skill_resource', { name: 'a', path });

  test('an approval covers only the files that a source lists', async () => {
    let reads = 0;
    const read = (_, path) => (path === 'SKILL.md' ? skill('a') : `evil ${(reads += 1)}`);
    // Without `files`, a skill has only its SKILL.md.
    const { chat, loaded } = await approved({ list: () => ['a'], read });
    assert.equal(loaded.ok, true);
    const refused = await reading(chat, 'x.md');
    assert.deepEqual([refused.ok, refused.reason, reads], [false, 'missing-file', 0]);
    const listing = await approved({ list: () => ['a'], read, files: () => ['SKILL.md', 'x.md'] });
    assert.equal((await reading(listing.chat, 'y.md')).reason, 'missing-file');
  });

  test('an approval covers a SKILL.md that the list of files lacks', async () => {
    const files = { 'SKILL.md': skill('a'), 'x.md': 'x' };
    const { chat, loaded } = await approved({ list: () => ['a'], read: (_, path) => files[path], files: () => ['x.md'] });
    assert.equal(loaded.ok, true);
    files['SKILL.md'] = skill('a', 'About a.', 'license: other\n');
    assert.equal((await chat.call('load_skill', { name: 'a' })).reason, 'changed');
  });

  test('a skill that no digest can cover is not approved', async () => {
    const read = (_, path) => (path === 'SKILL.md' ? skill('a') : new Uint8Array(33 << 20));
    const lists = {
      'left out': () => ['SKILL.md', { path: 'node_modules', leftOut: 'a folder of packages' }],
      'leads out': () => ['SKILL.md', '../x'],
      'too large by its list': () => ['SKILL.md', { path: 'x', size: 2 ** 40 }],
      'too large': () => ['SKILL.md', 'x', 'y'],
      'too many': () => Array.from({ length: 10_001 }, (_, at) => `f${at}`),
      'no files': () => [null],
    };
    for (const [why, files] of Object.entries(lists)) {
      const errors = [];
      const { asked, loaded } = await approved({ list: () => ['a'], read, files }, { onError: (error) => errors.push(error) });
      assert.deepEqual([loaded.reason, asked, errors.length], ['not-approved', [], 1], why);
    }
  });

  test('the preloaded skills are active from the first call of a new chat on', async () => {
    const open = (options) => Skills.open([{ source: memorySource({ a: skill('a') }), preload: true }, memorySource({ b: skill('b') })], options);
    const calls = {
      prompt: (chat) => chat.prompt(), call: (chat) => chat.call('list_skills'), answer: (chat) => chat.answer('anthropic', {}),
      answerAll: (chat) => chat.answerAll('anthropic', { content: [] }), userMessage: (chat) => chat.userMessage('hello'),
      activate: (chat) => chat.activate('none'),
    };
    for (const [name, call] of Object.entries(calls)) {
      const chat = (await open()).chat();
      await Promise.all([call(chat), call(chat)]);
      assert.deepEqual(chat.active, ['a'], name);
    }
    const skills = await open();
    const chat = skills.chat();
    assert.match(await chat.prompt(), /Body of a\./);
    assert.equal(chat.log.filter(({ event }) => event === 'activated').length, 1);
    chat.deactivate('a');
    await chat.prompt();
    assert.deepEqual(chat.active, []);
    // What a host deactivated stays so in a chat that is restored.
    const again = skills.restore(chat.state);
    await again.prompt();
    assert.deepEqual(again.active, []);
  });

  test('a call that ends while skills are preloaded ends no other call', async () => {
    const never = new Promise(() => {});
    let stuck = true;
    const source = { list: () => [{ id: 'a', text: skill('a') }], read: () => (stuck ? never : skill('a')) };
    const chat = (await Skills.open({ source, preload: true })).chat();
    const control = new AbortController();
    const first = chat.prompt({ signal: control.signal });
    const second = chat.prompt();
    stuck = false;
    control.abort();
    await assert.rejects(first, { name: 'AbortError' });
    assert.match(await second, /Body of a\./);
    assert.deepEqual([chat.active, chat.session.pending()], [['a'], []]);
  });

  test('a tool that the chat does not offer is one of the host', async () => {
    const call = (name) => ({ type: 'tool_use', id: 't1', name, input: { name: 'a' } });
    const skills = await Skills.open(memorySource({ a: skill('a') }));
    const chat = skills.chat('c', { options: { tools: ['load'] } });
    assert.equal(await chat.answer('anthropic', call('run_skill_script')), null);
    const content = ['run_skill_script', 'load_skill', 'list_skills'].map(call);
    assert.equal((await chat.answerAll('anthropic', { content })).length, 1);
    assert.deepEqual([chat.owns('load_skill'), chat.owns('list_skills'), chat.owns('run_skill_script')], [true, false, false]);
    const running = skills.chat('c', { policy: { run: true } });
    assert.notEqual(await running.answer('anthropic', call('run_skill_script')), null);
  });

  test('half of a surrogate pair ends only the call that has it', async () => {
    const half = '\ud83d';
    const chat = (await Skills.open(memorySource({ a: skill('a') }))).chat();
    const use = (id, name, input) => ({ type: 'tool_use', id, name, input });
    const content = [
      { type: 'text', text: `a quote of \\ud83d: ${half}` }, use('t1', 'load_skill', { name: 'a' }), use('t2', 'load_skill', { name: half }),
      use('t3', 'other_tool', { text: half }), use('t4', `load_skill${half}`, {}), use('t5', 'load_skill', { name: 'a', [half]: 1 }),
      use('t6', 'read_skill_resource', { name: 'a', path: '\ufdd0' }),
    ];
    const answers = await chat.answerAll('anthropic', { content });
    assert.deepEqual(answers.map(({ tool_use_id: id, is_error: failed }) => [id, failed]), [['t1', false], ['t2', true], ['t5', true], ['t6', true]]);
    assert.match(answers[1].content, /arguments/);
    const call = (id, given) => ({ id, type: 'function', function: { name: 'load_skill', arguments: given } });
    const calls = [call('1', `{"name":"${half}"}`), call('2', '{"name":"\\ud83d"}'), call('3', '{"name":"a"}')];
    const tools = await chat.answerAll('openai', { choices: [{ message: { content: half, tool_calls: calls } }] });
    assert.deepEqual(tools.map(({ tool_call_id: id, content: said }) => [id, /Body of a/.test(said)]), [['1', false], ['2', false], ['3', true]]);
    assert.equal((await chat.call('load_skill', { name: half })).ok, false);
    assert.equal((await chat.call('load_skill', `{"name":"${half}"}`)).ok, false);
    assert.equal(await chat.answer('anthropic', { type: 'text', text: half }), null);
  });

  test('a call of Gemini is answered in every form that its SDK has', async () => {
    const chat = (await Skills.open(memorySource({ a: skill('a') }))).chat();
    const call = { id: '1', name: 'load_skill', args: { name: 'a' } };
    const part = await chat.answer('gemini', call);
    assert.deepEqual([part.functionResponse.name, part.functionResponse.id], ['load_skill', '1']);
    assert.match(part.functionResponse.response.output, /Body of a\./);
    const parts = [{ text: 'I look.' }, { functionCall: call }];
    for (const response of [call, [call], { functionCalls: [call] }, { functionCall: call }, parts, { candidates: [{ content: { parts } }], functionCalls: [call] }]) {
      assert.deepEqual(await chat.answerAll('gemini', response), [part], JSON.stringify(response));
    }
    assert.equal(await chat.answer('gemini', { name: 'other', args: {} }), null);
    assert.deepEqual(await chat.answerAll('gemini', { functionCalls: [] }), []);
  });

  test('a call without the id that its result needs is an error', async () => {
    const chat = (await Skills.open(memorySource({ a: skill('a') }))).chat();
    await assert.rejects(chat.answer('anthropic', { type: 'tool_use', name: 'load_skill', input: { name: 'a' } }), InvalidArgumentError);
    await assert.rejects(chat.answer('openai', { type: 'function', function: { name: 'load_skill', arguments: '{}' } }), InvalidArgumentError);
    assert.equal(await chat.answer('anthropic', { type: 'tool_use', name: 'other', input: {} }), null);
    assert.notEqual(await chat.answer('gemini', { functionCall: { name: 'load_skill', args: { name: 'a' } } }), null);
  });

  test('the session of skills that were closed is closed', async () => {
    const skills = await Skills.open(memorySource({ a: skill('a') }));
    const chat = skills.chat();
    const { session } = chat;
    skills.close();
    for (const use of [() => session.call('load_skill', { name: 'a' }), () => session.state(), () => session.pending(), () => chat.state, () => chat.log]) {
      assert.throws(use, ClosedError, String(use));
    }
    chat.close();
  });

  test('a skill is activated for the user unless the host says otherwise', async () => {
    const hidden = skill('a', 'About a.', 'user-invocable: false\n');
    const chat = (await Skills.open(memorySource({ a: hidden, b: skill('b') }))).chat();
    assert.equal((await chat.activate('a')).ok, false);
    assert.equal((await chat.activate('a', { by: 'host' })).ok, true);
    assert.equal((await chat.activate('b')).ok, true);
    assert.deepEqual(chat.log.filter(({ event }) => event === 'activated').map(({ by }) => by), ['host', 'user']);
  });

  test('skills without the tools that they need are found by no selector', async () => {
    const source = memorySource({
      'a-shell': skill('a-shell', 'Tidies tidies tidies.', 'allowed-tools: Bash\n'), plain: skill('plain', 'Tidies a desk when it is full.'),
    });
    const all = (_, skills) => skills.map(({ key }) => ({ key, score: key === 'a-shell' ? 2 : 1 }));
    const embed = (texts) => texts.map((text) => [text.includes('shell') || text === 'tidies' ? 1 : 0, 0.1]);
    const ways = { bm25: {}, keyword: { selector: 'keyword' }, host: { selector: all }, embedding: { embed, selector: 'embedding' } };
    for (const [name, options] of Object.entries(ways)) {
      const skills = await Skills.open(source, options);
      const keys = async (asked) => (await skills.search('tidies', asked)).map(({ key }) => key);
      assert.deepEqual(await keys({ topK: 1 }), ['a-shell'], name);
      assert.deepEqual(await keys({ topK: 1, availableTools: ['Read'] }), ['plain'], name);
      assert.deepEqual((await keys({ availableTools: ['bash'] })).sort(), ['a-shell', 'plain'], name);
      const narrowing = { topK: 1, availableTools: ['Read'] };
      const prompt = await skills.chat().promptWith({ query: 'tidies', narrowing });
      assert.deepEqual([prompt.skills, prompt.notNarrowed], [['plain'], null], name);
      await assert.rejects(skills.search('tidies', { availableTools: 5 }), InvalidArgumentError);
      await assert.rejects(skills.chat().promptWith({ query: 'tidies', narrowing: { availableTools: 5 } }), InvalidArgumentError);
    }
  });

  test('a search takes a filter, and refuses options that it does not have', async () => {
    const skills = await Skills.open([
      { source: memorySource({ a: skill('a', 'Tidies.') }), mount: 'team' }, { source: memorySource({ b: skill('b', 'Tidies.') }), mount: 'own' },
    ]);
    assert.deepEqual((await skills.search('tidies')).map(({ key }) => key), ['a', 'b']);
    assert.deepEqual((await skills.search('tidies', { filter: 'team/*' })).map(({ key }) => key), ['a']);
    for (const options of [{ selector: 'keyword' }, { topk: 3 }, { filter: 5 }, { tags: 'abc' }]) {
      await assert.rejects(skills.search('tidies', options), InvalidArgumentError, JSON.stringify(options));
    }
  });

  test('a refresh that began earlier does not undo a later one', async () => {
    const [first, waits] = [gate(), gate()];
    let files = { a: skill('a'), old: skill('old') };
    let slow = false;
    const list = async () => {
      const listed = Object.entries(files).map(([id, text]) => ({ id, text }));
      if (slow) {
        slow = false;
        waits.open();
        await first.passed;
      }
      return listed;
    };
    const skills = await Skills.open({ list, read: (id) => files[id] });
    slow = true;
    const earlier = skills.refresh();
    await waits.passed;
    files = { a: skill('a'), new: skill('new') };
    await skills.refresh();
    first.open();
    assert.deepEqual((await earlier).added, []);
    assert.deepEqual(skills.keys(), ['a', 'new']);
    assert.match(await skills.readText('new'), /Body of new/);
  });

  test('what is under way fails as closed when its skills are closed', async () => {
    const never = new Promise(() => {});
    let stuck = false;
    const waiting = (value) => (stuck ? never : value);
    const source = { list: () => waiting(['a']), read: () => waiting(skill('a')), files: () => waiting(['SKILL.md']) };
    const ways = {
      refresh: (skills) => skills.refresh(), files: (skills) => skills.files('a'), read: (skills) => skills.read('a'),
      search: (skills) => skills.search('about'), prompt: (skills) => skills.chat().prompt({ query: 'about' }),
      call: (skills) => skills.chat().call('load_skill', { name: 'a' }),
    };
    for (const [name, work] of Object.entries(ways)) {
      const errors = [];
      const skills = await Skills.open(source, { selector: () => waiting(['a']), onError: (error) => errors.push(error) });
      stuck = true;
      const pending = work(skills);
      // The work begins before the skills are closed.
      await new Promise((resolve) => { setImmediate(resolve); });
      skills.close();
      await assert.rejects(pending, ClosedError, name);
      stuck = false;
      assert.deepEqual(errors, [], name);
    }
  });

  test('many calls at once cause no warning about listeners', async () => {
    const selector = async (_, skills) => skills.map(({ key }) => key);
    const skills = await Skills.open(memorySource({ a: skill('a') }), { selector });
    const warnings = [];
    const note = (warning) => warnings.push(warning.name);
    process.on('warning', note);
    await Promise.all(Array.from({ length: 50 }, () => skills.search('about')));
    await new Promise((resolve) => { setImmediate(resolve); });
    process.off('warning', note);
    assert.deepEqual(warnings, []);
    await assert.rejects((await Skills.open(memorySource({ a: skill('a') }), { selector: () => 7 })).search('a'), SelectError);
  });
}
