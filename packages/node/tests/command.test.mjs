// The command that the package installs.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

import { newFolder, skill, write } from './place.mjs';

const command = fileURLToPath(new URL('../../../node_modules/.bin/prowess', import.meta.url));
const home = newFolder();
const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: `${home}/c`, XDG_CACHE_HOME: `${home}/x`, XDG_STATE_HOME: `${home}/s` };
const run = (...args) => spawnSync(command, args, { encoding: 'utf8', env, cwd: home, timeout: 60_000 });

test('the command has the version of the package, and its exit codes are those of the command', () => {
  const { version } = JSON.parse(readFileSync(new URL('../../../node_modules/prowess/package.json', import.meta.url), 'utf8'));
  const shown = run('--version');
  assert.deepEqual([shown.status, shown.stdout], [0, `prowess ${version}\n`]);
  const good = write(newFolder(), { 'a/SKILL.md': skill('a', 'Tidies up a desk when it is full.') });
  assert.equal(run('check', good).status, 0);
  const bad = write(newFolder(), { 'a/SKILL.md': 'no frontmatter' });
  const checked = run('check', bad, '--json');
  assert.deepEqual([checked.status, JSON.parse(checked.stdout).version], [1, 1]);
  const wrong = run('check', '--colour');
  assert.equal(wrong.status, 2);
  assert.match(wrong.stderr, /--colour/);
  const listed = run('list', '--in', good, '--json');
  assert.equal(JSON.parse(listed.stdout).skills[0].name, 'a');
});

test('standard input and output are those of the command, and a signal ends it', { timeout: 60_000 }, async () => {
  const folder = write(newFolder(), { 'a/SKILL.md': skill('a') });
  const replay = spawnSync(command, ['replay', '--in', folder, '-'], { encoding: 'utf8', env, input: '{"tool":"load_skill","arguments":{"name":"a"}}\n', timeout: 60_000 });
  assert.equal(replay.status, 0, replay.stderr);
  assert.match(replay.stdout, /Body of a\./);
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const server = spawn(command, ['serve', '--in', folder], { env, stdio: ['pipe', 'pipe', 'ignore'] });
    server.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    await once(server.stdout, 'data');
    server.kill(signal);
    const [code, killed] = await once(server, 'exit');
    assert.ok(killed === signal || code === 0 || code === 128 + (signal === 'SIGTERM' ? 15 : 2), `${signal}: ${code} ${killed}`);
  }
});
