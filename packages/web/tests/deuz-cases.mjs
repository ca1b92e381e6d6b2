// Every name of the vocabulary of deuz, with its arguments and defaults, in every JavaScript package.

import assert from 'node:assert/strict';
import { test } from 'node:test';

/** Defines the tests over the vocabulary of a package. */
export function defineDeuzTests(deuz, { InvalidArgumentError, SelectError, Skills }) {
  const RAW = [
    '---', 'name: pdf', 'description: Fills in PDF forms.', 'license: MIT', 'allowed-tools: Read Bash(git:*)', 'metadata:',
    '  team: docs', 'model: fast', '---', '# PDF', '', 'Read the form.', '',
  ].join('\n');
  const OTHER = '---\nname: mail\ndescription: Sends mail to people.\n---\nSend.\n';

  test('a SKILL.md that is larger than its limit has an issue', () => {
    const head = '---\nname: large\ndescription: Is large.\n';
    const fields = (raw, options) => deuz.parseSkill(raw, options).issues.map(({ field }) => field);
    const body = `${head}---\n${'x'.repeat(2 << 20)}`;
    assert.deepEqual(fields(body), ['_']);
    assert.deepEqual(fields(body, { validate: false }), ['_']);
    assert.ok(fields(`${head}other: ${'x'.repeat(1 << 17)}\n---\n`).includes('_'));
    assert.deepEqual(fields(`${head}---\nShort.\n`), []);
  });

  test('metadata has the text of every value as it is written', () => {
    const written = ['1.10', '0777', '1e3', '0x1F', '0o17', '1_000', '.inf', '~', 'null', 'yes', 'True', '2024-05-01', '18446744073709551616', '-0', '+7', '12:30', ''];
    const fields = written.map((text, at) => [`v${at}`, text]);
    const lines = fields.map(([key, text]) => `${key}: ${text}`);
    const nested = ['list: [1.10, true]', 'metadata:', '  version: 1.10', '  deep:', '    mode: 0777', '    none: ~', 'quoted: "1.10"'];
    const { metadata } = deuz.parseSkill(['---', 'name: a', 'description: B.', ...lines, ...nested, '---', ''].join('\n')).manifest;
    assert.deepEqual(metadata, {
      name: 'a', description: 'B.', ...Object.fromEntries(fields), list: ['1.10', 'true'],
      metadata: { version: '1.10', deep: { mode: '0777', none: '~' } }, quoted: '1.10',
    });
  });

  test('a list or a trigger of a SKILL.md that is larger than its limit is a warning, once', async () => {
    const large = `---\nname: large\ndescription: Is large.\n---\n${'x'.repeat(2 << 20)}`;
    const source = deuz.staticSkillSource({ large: { raw: large }, mail: { raw: OTHER } });
    const registry = deuz.createSkillRegistry({ source });
    const said = [];
    const { emitWarning } = process;
    process.emitWarning = (message, { type }) => said.push([type, message.includes('the skill large')]);
    try {
      for (const _ of [1, 2]) assert.equal((await source.list()).length, 2);
      assert.deepEqual(said, [['SkillWarning', true]]);
      for (const _ of [1, 2]) assert.equal((await registry.trigger('large')).name, 'large');
      assert.equal((await registry.trigger('mail')).name, 'mail');
      assert.deepEqual(said, [['SkillWarning', true], ['SkillWarning', true]]);
    } finally {
      process.emitWarning = emitWarning;
    }
  });

  test('parseSkill returns the manifest and its issues, and never throws about contents', () => {
    const { manifest, issues } = deuz.parseSkill(RAW);
    assert.deepEqual(issues, []);
    assert.deepEqual(
      [manifest.name, manifest.description, manifest.license, manifest.allowedTools, manifest.body, manifest.raw],
      ['pdf', 'Fills in PDF forms.', 'MIT', ['Read', 'Bash(git:*)'], '# PDF\n\nRead the form.', RAW],
    );
    assert.deepEqual(manifest.metadata, {
      name: 'pdf', description: 'Fills in PDF forms.', license: 'MIT', allowedTools: ['Read', 'Bash(git:*)'],
      metadata: { team: 'docs' }, model: 'fast',
    });
    const empty = deuz.parseSkill('no frontmatter');
    assert.deepEqual(empty.issues.map(({ field }) => field), ['name', 'description']);
    assert.deepEqual([empty.manifest.name, empty.manifest.body, 'license' in empty.manifest], ['', 'no frontmatter', false]);
    assert.deepEqual(deuz.parseSkill('x', { validate: false }).issues, []);
    assert.equal(deuz.parseSkill(RAW, { parseYaml: () => assert.fail('one reader of YAML') }).manifest.name, 'pdf');
  });

  test('a key __proto__ of the frontmatter is a key like any other', () => {
    const { metadata } = deuz.parseSkill('---\nname: a\n__proto__:\n  polluted: 1\n---\n').manifest;
    assert.deepEqual(Object.keys(metadata), ['name', '__proto__']);
    assert.equal(metadata.polluted, undefined);
    assert.equal(Object.getPrototypeOf(metadata), Object.prototype);
  });

  test('splitFrontmatter splits at the fences only', () => {
    assert.deepEqual(deuz.splitFrontmatter('---\na: 1\n---\nx\n---\n'), { frontmatter: 'a: 1\n', body: 'x\n---\n' });
    assert.deepEqual(deuz.splitFrontmatter('\uFEFFplain'), { frontmatter: null, body: 'plain' });
  });

  test('validateSkillName and validateSkillDescription say what is wrong', () => {
    for (const name of ['pdf', 'a--b', '-a', '7', 'a'.repeat(64)]) assert.deepEqual(deuz.validateSkillName(name), [], name);
    for (const name of ['', 'Pdf', 'a_b', 'my-claude', 'anthropic', 'a<b', 'é', 'a'.repeat(65)]) {
      assert.ok(deuz.validateSkillName(name).length > 0, name);
    }
    assert.deepEqual(deuz.validateSkillDescription('Does it.'), []);
    assert.deepEqual(deuz.validateSkillDescription('é'.repeat(1024)), []);
    for (const text of ['', '  ', 'a <b>', 'x'.repeat(1025)]) {
      const [issue] = deuz.validateSkillDescription(text);
      assert.equal(issue.field, 'description');
      assert.ok(issue.message.length > 0);
    }
  });

  const held = () =>
    deuz.staticSkillSource({ pdf: { raw: RAW, resources: { 'references/a.md': 'A', 'b.bin': Uint8Array.of(1) } }, mail: { raw: OTHER } });

  test('staticSkillSource and createSkillRegistry disclose a skill in three levels', async () => {
    const registry = deuz.createSkillRegistry({ source: held() });
    assert.deepEqual(await registry.catalog(), [
      { id: 'pdf', name: 'pdf', description: 'Fills in PDF forms.' },
      { id: 'mail', name: 'mail', description: 'Sends mail to people.' },
    ]);
    assert.equal((await registry.trigger('pdf')).body, '# PDF\n\nRead the form.');
    assert.equal(await registry.resource('pdf', './references\\a.md'), 'A');
    assert.deepEqual(await registry.resource('pdf', 'b.bin'), Uint8Array.of(1));
    assert.deepEqual(await registry.match('sends mail'), [{ id: 'mail', score: 1 }]);
    for (const work of [
      registry.trigger('none'), registry.resource('pdf', '../x'), registry.resource('pdf', 'toString'),
      deuz.createSkillRegistry({ source: { list: async () => [], read: async () => '' } }).resource('pdf', 'a'),
    ]) {
      await assert.rejects(work, (error) => error instanceof deuz.InvalidRequestError && error.code === 'invalid_request' && error.status === 400);
    }
  });

  test('fetchSkillSource reads an index and the files below it, and no id leads out', async () => {
    const asked = [];
    const pages = { 'index.json': { skills: [{ id: 'pdf', name: 'pdf', description: 'd' }] }, 'pdf/SKILL.md': RAW, 'pdf/a.md': 'A' };
    const fetch = async (url) => {
      asked.push(url);
      const page = pages[url.slice('https://host/skills/'.length)];
      if (page === undefined) return new Response('', { status: 404 });
      return new Response(typeof page === 'string' ? page : JSON.stringify(page));
    };
    const source = deuz.fetchSkillSource('https://host/skills//', fetch);
    assert.deepEqual((await source.list()).map(({ id }) => id), ['pdf']);
    assert.equal(await source.read('pdf'), RAW);
    assert.deepEqual(await source.readResource('pdf', 'a.md'), new TextEncoder().encode('A'));
    const before = asked.length;
    for (const work of [source.read('../x'), source.readResource('pdf', '../x'), source.readResource('..', 'x')]) {
      await assert.rejects(work, deuz.InvalidRequestError);
    }
    assert.equal(asked.length, before);
    await assert.rejects(source.read('none'), /404/);
    pages['index.json'] = [{ id: 'x', name: 'x', description: 'd' }];
    assert.deepEqual((await source.list()).map(({ id }) => id), ['x']);
    for (const index of ['no JSON', '{"skills": 7}', '[null]', '[{}]', '[7]']) {
      pages['index.json'] = index;
      await assert.rejects(source.list(), deuz.InvalidRequestError, index);
    }
    pages['index.json'] = [{ id: 'x' }, { id: 'y', name: null, description: null }];
    assert.deepEqual(await source.list(), [{ id: 'x', name: 'x', description: '' }, { id: 'y', name: 'y', description: '' }]);
  });

  test('fetchSkillSource asks the fetch of the platform by default', async (context) => {
    const asked = [];
    const { fetch } = globalThis;
    context.after(() => { globalThis.fetch = fetch; });
    globalThis.fetch = async (url) => (asked.push(String(url)), new Response('[{"id": "pdf"}]'));
    assert.deepEqual((await deuz.fetchSkillSource('https://host/skills').list()).map(({ id }) => id), ['pdf']);
    assert.deepEqual(asked, ['https://host/skills/index.json']);
  });

  test('createSkillRegistry asks its matcher, with the query, the catalog and the options', async () => {
    const asked = [];
    const matcher = { match: (...given) => (asked.push(given), [{ id: 'mail', score: 7 }]) };
    const registry = deuz.createSkillRegistry({ source: held(), matcher });
    assert.deepEqual(await registry.match('forms', { topK: 3 }), [{ id: 'mail', score: 7 }]);
    assert.deepEqual(asked, [['forms', await registry.catalog(), { topK: 3 }]]);
    const usual = deuz.createSkillRegistry({ source: held() });
    assert.equal((await usual.match('pdf forms mail')).length, 2);
    assert.deepEqual((await usual.match('pdf forms mail', { topK: 1 })).map(({ id }) => id), ['pdf']);
    assert.deepEqual((await usual.match('pdf forms mail', { threshold: 0.5 })).map(({ id }) => id), ['pdf']);
  });

  test('an entry that no SKILL.md can hold hides no other', async () => {
    const bad = [
      { id: 'blank', name: ' ', description: '\u0085' }, { id: 'none', name: null, description: undefined }, { id: 'half', name: 'a\ud800', description: 'b' },
      { id: 'spaced', name: `${'m'.repeat(200)} more`, description: 'Is cut at a space.' },
      { id: 'long', name: 'n'.repeat(70_000), description: '\u0001'.repeat(70_000) }, { id: 'kind', name: {}, description: [] },
    ];
    const entries = [...bad, { id: 'good', name: 'good', description: 'Fills in forms.' }];
    const source = { list: async () => entries, read: async () => RAW };
    assert.deepEqual(await deuz.createSkillRegistry({ source }).match('forms'), [{ id: 'good', score: 1 }]);
    const catalog = deuz.renderSkillCatalog(entries);
    assert.match(catalog, /- good: Fills in forms\./);
    assert.match(catalog, /- blank: blank\n/);
    // The names of a catalog have compatibility forms: the ellipsis of a cut is three full stops.
    assert.ok(catalog.includes(`${'n'.repeat(199)}...`) && !catalog.includes('n'.repeat(200)));
    assert.ok(catalog.includes(`${'m'.repeat(199)}...`) && !catalog.includes('m'.repeat(200)));
    const embed = async (texts) => texts.map(() => [1, 1]);
    assert.equal((await deuz.embeddingMatcher(embed).match('forms', entries)).length, 7);
  });

  test('mergeSkillSources lists and reads the same skill, the first or the last', async () => {
    const changed = deuz.staticSkillSource({ pdf: { raw: OTHER } });
    const plain = deuz.mergeSkillSources([{ source: held() }, { source: changed }, { source: changed, prefix: 'team' }]);
    assert.deepEqual((await plain.list()).map(({ id }) => id), ['pdf', 'mail', 'team:pdf']);
    assert.equal(await plain.read('pdf'), RAW);
    assert.equal(await plain.read('team:pdf'), OTHER);
    const last = deuz.mergeSkillSources([{ source: held() }, { source: changed }], { override: true });
    assert.equal((await last.list()).find(({ id }) => id === 'pdf').description, 'Sends mail to people.');
    assert.equal(await last.read('pdf'), OTHER);
    assert.equal(await plain.readResource('pdf', 'references/a.md'), 'A');
    await assert.rejects(plain.read('none'), deuz.InvalidRequestError);
  });

  test('mergeSkillSources lists its sources once for many reads, and again for an id that is new', async () => {
    const raws = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`s${at}`, OTHER]));
    let lists = 0;
    const counted = {
      list: async () => { lists += 1; return Object.keys(raws).map((id) => ({ id, name: id, description: 'd' })); },
      read: async (id) => raws[id],
    };
    const merged = deuz.mergeSkillSources([{ source: counted }]);
    await merged.list();
    for (const id of Object.keys(raws)) assert.equal(await merged.read(id), OTHER);
    assert.equal(lists, 1);
    raws.late = RAW;
    assert.equal(await merged.read('late'), RAW);
    assert.equal(lists, 2);
    await Skills.open(deuz.asSource(deuz.mergeSkillSources([{ source: counted }])));
    assert.equal(lists, 3);
  });

  test('arguments of the wrong type are errors of one class', async () => {
    const wrong = [
      () => deuz.parseSkill(5), () => deuz.staticSkillSource(5), () => deuz.staticSkillSource({ a: 5 }), () => deuz.staticSkillSource({ a: {} }),
      () => deuz.fetchSkillSource(5), () => deuz.fetchSkillSource('x', 5), () => deuz.mergeSkillSources('abc'), () => deuz.mergeSkillSources([5]),
      () => deuz.mergeSkillSources([{ source: {} }]), () => deuz.createSkillRegistry(), () => deuz.createSkillRegistry({ source: null }),
      () => deuz.asSource(5), () => deuz.asSource(held(), 5), () => deuz.embeddingMatcher(5), () => deuz.lexicalMatcher.match('x', 5),
      () => deuz.lexicalMatcher.match('x', [null, 5]), () => deuz.renderSkillCatalog('abc'), () => deuz.scopeToolsToSkill(5),
    ];
    for (const work of wrong) assert.throws(work, InvalidArgumentError, String(work));
    await assert.rejects(deuz.embeddingMatcher(() => []).match('x', 'abc'), InvalidArgumentError);
    assert.throws(() => deuz.createSkillRegistry({ source: held(), matcher: {} }), InvalidArgumentError);
    const registry = deuz.createSkillRegistry({ source: held(), matcher: { match: () => null } });
    await assert.rejects(registry.match('q'), SelectError);
    for (const list of [null, 5, 'abc', [5]]) {
      await assert.rejects(deuz.createSkillRegistry({ source: { list: async () => list, read: async () => '' } }).catalog(), InvalidArgumentError);
    }
    await assert.rejects(registry.trigger(Symbol('x')), InvalidArgumentError);
    await assert.rejects(registry.resource(Symbol('x'), 'a.md'), InvalidArgumentError);
  });

  test('lexicalMatcher and embeddingMatcher rank with topK and threshold', async () => {
    const candidates = [
      { id: '1', name: 'pdf', description: 'Fill in a form' }, { id: '2', name: 'mail', description: 'Send a form' },
      { id: '3', name: 'none', description: '' },
    ];
    assert.deepEqual(deuz.lexicalMatcher.match('the PDF form', candidates), [{ id: '1', score: 1 }, { id: '2', score: 0.5 }]);
    assert.equal(deuz.lexicalMatcher.match('pdf form', candidates, { topK: 1 }).length, 1);
    assert.equal(deuz.lexicalMatcher.match('pdf form', candidates, { threshold: 0.5 }).length, 1);
    assert.deepEqual(deuz.lexicalMatcher.match('', candidates), []);
    const all = deuz.lexicalMatcher.match('pdf', candidates, { threshold: -1 });
    assert.deepEqual(all, [{ id: '1', score: 1 }, { id: '2', score: 0 }, { id: '3', score: 0 }]);
    const embed = async (texts) => texts.map((text) => [text.includes('mail') ? 1 : -1, 0.5]);
    const found = await deuz.embeddingMatcher(embed).match('mail', candidates);
    assert.deepEqual([found[0].id, found.length], ['2', 3]);
    assert.equal((await deuz.embeddingMatcher(embed).match('mail', candidates, { topK: 2, threshold: 0.9 })).length, 1);
    assert.deepEqual(await deuz.embeddingMatcher(embed).match('mail', []), []);
  });

  test('scopeToolsToSkill keeps the tools of a list by base name, and all without one', () => {
    const tools = { Read: 1, Bash: 2, Write: 3 };
    assert.deepEqual(deuz.scopeToolsToSkill(tools, ['Read', 'Bash(git:*)']), { Read: 1, Bash: 2 });
    assert.deepEqual(deuz.scopeToolsToSkill(tools, undefined), tools);
    assert.deepEqual(deuz.scopeToolsToSkill(tools, []), {});
  });

  test('normalizeResourcePath refuses what leads out', () => {
    assert.equal(deuz.normalizeResourcePath('./a\\b.md'), 'a/b.md');
    for (const path of ['../a', 'a/../../b', '/etc/passwd', 'a\\..\\..\\b', 'a\0']) {
      assert.throws(() => deuz.normalizeResourcePath(path), deuz.InvalidRequestError, path);
    }
  });

  test('renderSkillCatalog lists what a model may choose, escaped', () => {
    assert.equal(deuz.renderSkillCatalog([]), '');
    assert.equal(
      deuz.renderSkillCatalog([{ id: 'team:pdf', name: 'pdf', description: 'Fills <forms>.' }]),
      '<available_skills>\n- pdf (team:pdf): Fills &lt;forms&gt;.\n</available_skills>',
    );
  });

  test('a source of this vocabulary serves a session', async () => {
    const skills = await Skills.open(deuz.asSource(held(), { label: 'mine' }), { options: { naming: 'deuz' } });
    assert.deepEqual([skills.get('pdf').source, deuz.asSource(held()).label], ['mine', 'deuz']);
    const chat = skills.chat();
    assert.match((await chat.call('load_skill', { id: 'pdf' })).text, /Read the form\./);
    assert.match((await chat.call('read_skill_resource', { id: 'pdf', path: 'references/a.md' })).text, /A/);
  });
}
