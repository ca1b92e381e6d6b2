#!/usr/bin/env node
// The command `prowess`: runs the program of this system, with its input, output, signals and exit code.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

import { system } from './system.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];

function program() {
  const name = process.platform === 'win32' ? 'prowess.exe' : 'prowess';
  const beside = path.join(__dirname, name);
  if (existsSync(beside)) return beside;
  try {
    return path.join(path.dirname(require.resolve(`prowess-${system()}`)), name);
  } catch {
    console.error(`error: there is no program of prowess for ${system()}\n  hint: install prowess again with its optional packages`);
    process.exit(2);
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: 'inherit', windowsHide: true });
// A sender of one process reaches only this one. A terminal sends signals to both, so the program gets them twice: it ends
// at the first.
for (const signal of process.platform === 'win32' ? [] : SIGNALS) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`error: the program of prowess could not be started: ${error.message}`);
  process.exit(2);
});
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  for (const one of SIGNALS) process.removeAllListeners(one);
  process.kill(process.pid, signal);
});
