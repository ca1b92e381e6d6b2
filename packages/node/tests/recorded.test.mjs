// The two vocabularies against what drover and deuz did with 68 files. The lists of differences are complete.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';

import * as deuz from 'prowess/deuz';
import * as drover from 'prowess/drover';

const load = (name) => JSON.parse(readFileSync(new URL(`../../../conformance/five-systems/${name}.json`, import.meta.url), 'utf8'));
const textOf = (input) =>
  Array.isArray(input) ? input.map((part) => (typeof part === 'string' ? part : part.repeat.repeat(part.times))).join('') : input;

/** Where the vocabulary of deuz returns something else, by the reason that docs/embed/javascript.md gives. */
const DEUZ_APART = {
  // Fences and YAML that can be repaired are read.
  'leading-blank-lines': 'name description body metadata issues', 'leading-space-before-fence': 'name description body metadata issues',
  'close-fence-indented': 'name description body metadata issues', 'close-with-dots': 'name description body metadata issues',
  unterminated: 'name description metadata issues', 'close-fence-4-dashes': 'body', 'empty-frontmatter': 'body',
  // Values are those of YAML: folded and continued lines, comments, escapes, anchors, null and nested mappings.
  'description-folded': 'description metadata', 'description-multiline-plain': 'description metadata', 'description-literal': 'metadata',
  'dashes-in-block-scalar': 'metadata', comment: 'name metadata issues', 'quoted-escapes': 'description metadata',
  'anchor-alias': 'name description metadata issues', 'flow-mapping': 'name description metadata issues',
  'null-description': 'description issues', 'metadata-mixed': 'metadata',
  'metadata-nested': 'metadata', 'metadata-dup': 'metadata', 'tab-indent': 'metadata',
  // Tools are separated by spaces too, and an empty list is a list.
  'tools-string': 'allowedTools metadata', 'tools-empty': 'metadata',
  // A name and a description lose the spaces around them; the first line of the body keeps its indent.
  'name-space-padded': 'name issues', 'blank-description': 'description', 'body-whitespace': 'body',
};

/** The files that a function accepts and the record refuses, and the reverse. */
function differences(context, record, accepts) {
  const recorded = load(`recorded/${record}`);
  const { cases } = load('cases');
  const differ = { onlyOurs: [], onlyTheirs: [] };
  for (const { id, folder = 'demo', input } of cases) {
    const ours = accepts(textOf(input), `/x/${folder}/SKILL.md`);
    if (ours !== recorded[id].ok) differ[ours ? 'onlyOurs' : 'onlyTheirs'].push(id);
  }
  const count = differ.onlyOurs.length + differ.onlyTheirs.length;
  context.diagnostic(`${record}: ${cases.length - count} of ${cases.length} alike`);
  return differ;
}

const accepts = (mode) => (text, file) => {
  try {
    drover.parseSkill(text, file, { mode });
    return true;
  } catch (error) {
    assert.ok(error instanceof drover.SkillLoadError && error.issues.length > 0, error.stack);
    return false;
  }
};

test('parseSkill of drover accepts what drover accepted, but for what the page lists', (context) => {
  assert.deepEqual(differences(context, 'drover-strict', accepts('strict')), {
    onlyOurs: ['bom', 'name-number', 'tools-empty', 'license-number'],
    onlyTheirs: ['close-fence-4-dashes', 'blank-description'],
  });
  assert.deepEqual(differences(context, 'drover-lenient', accepts('lenient')), {
    onlyOurs: [
      'bom', 'leading-blank-lines', 'leading-space-before-fence', 'close-fence-indented', 'close-with-dots', 'description-colon',
      'metadata-dup', 'tab-indent',
    ],
    onlyTheirs: [],
  });
});

/** The members of a manifest, and the fields of its issues, in which ours differs from the record. */
function membersApart({ manifest, issues }, recorded) {
  const expanded = JSON.parse(JSON.stringify(recorded), (_, value) => (typeof value?.[0] === 'object' && value[0].repeat !== undefined ? textOf(value) : value));
  const fields = (list) => [...new Set(list.map(({ field }) => field))];
  const pairs = {
    name: [manifest.name, expanded.name], description: [manifest.description, expanded.description], body: [manifest.body, expanded.body],
    allowedTools: [manifest.allowedTools, expanded.tools], metadata: [manifest.metadata, expanded.metadata],
    issues: [fields(issues), fields(expanded.issues)],
  };
  return Object.keys(pairs).filter((member) => !isDeepStrictEqual(...pairs[member]));
}

test('parseSkill of deuz returns what deuz returned, but for what the page lists', (context) => {
  const recorded = load('recorded/deuz');
  const { cases } = load('cases');
  const apart = {};
  for (const { id, input } of cases) {
    const members = membersApart(deuz.parseSkill(textOf(input)), recorded[id]);
    if (members.length > 0) apart[id] = members.join(' ');
  }
  context.diagnostic(`deuz: ${cases.length - Object.keys(apart).length} of ${cases.length} alike`);
  assert.deepEqual(apart, DEUZ_APART);
});
