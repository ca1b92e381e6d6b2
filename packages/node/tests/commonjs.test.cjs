// The installed package by `require`, and one copy of each class for `require` and `import`.

const assert = require('node:assert/strict');
const { test } = require('node:test');

const prowess = require('prowess');

test('require has every name that import has, and the same classes', async () => {
  const imported = await import('prowess');
  const own = ({ default: _, 'module.exports': __, ...names }) => Object.keys(names).filter((name) => name !== '__esModule').sort();
  assert.deepEqual(own(imported), own(prowess));
  for (const name of own(prowess)) assert.equal(imported[name], prowess[name], name);
  for (const entry of ['deuz', 'drover', 'adapters', 'ai-sdk']) {
    const [one, other] = [require(`prowess/${entry}`), await import(`prowess/${entry}`)];
    assert.ok(own(one).length > 0);
    assert.deepEqual(own(other), own(one));
  }
  assert.equal(require('prowess/package.json').name, 'prowess');
});
