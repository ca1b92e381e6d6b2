// A headless Chromium over its debugging pipe, and a server of static files on this machine. It needs no packages.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';

const TYPES = {
  '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css', '.json': 'application/json',
  '.wasm': 'application/wasm',
};

/** Serves the files below a folder; `/` is an empty page. */
export async function serve(folder) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    try {
      if (pathname === '/') {
        response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>vectors</title>');
        return;
      }
      const file = path.join(folder, path.normalize(decodeURIComponent(pathname)));
      const bytes = await readFile(file);
      response.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** How long Chromium may take for one answer, in milliseconds. */
const PATIENCE = 120_000;
const FLAGS = [
  '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-extensions', '--disable-dev-shm-usage', '--mute-audio',
  '--remote-debugging-pipe',
];

/** Starts Chromium; `page` opens a page. */
export async function launch(program) {
  const profile = await mkdtemp(path.join(tmpdir(), 'prowess-chromium-'));
  const child = spawn(program, [...FLAGS, `--user-data-dir=${profile}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  const [, , , input, output] = child.stdio;
  const waiting = new Map();
  const listeners = new Set();
  let number = 0;
  let rest = '';
  output.setEncoding('utf8');
  output.on('data', (chunk) => {
    const messages = (rest + chunk).split('\0');
    rest = messages.pop();
    for (const text of messages) {
      const message = JSON.parse(text);
      const { resolve, reject } = waiting.get(message.id) ?? {};
      waiting.delete(message.id);
      if (message.error) reject?.(new Error(message.error.message));
      else if (message.id !== undefined) resolve?.(message.result);
      else for (const listener of listeners) listener(message);
    }
  });
  ended.then(() => {
    for (const { reject } of waiting.values()) reject(new Error('Chromium ended'));
  });
  const send = (method, params = {}, sessionId = undefined) =>
    new Promise((resolve, reject) => {
      number += 1;
      const own = number;
      const late = setTimeout(() => {
        waiting.delete(own);
        reject(new Error(`Chromium did not answer ${method}`));
      }, PATIENCE);
      const settle = (done) => (value) => {
        clearTimeout(late);
        done(value);
      };
      waiting.set(number, { resolve: settle(resolve), reject: settle(reject) });
      input.write(`${JSON.stringify({ id: number, method, params, sessionId })}\0`);
    });
  return {
    async page() {
      const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
      const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
      return pageOf((method, params) => send(method, params, sessionId), listeners, sessionId);
    },
    async close() {
      child.kill('SIGKILL');
      await ended;
      await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

async function pageOf(send, listeners, sessionId) {
  const requests = [];
  const faults = [];
  listeners.add(({ method, params, sessionId: from }) => {
    if (from !== sessionId) return;
    if (method === 'Network.requestWillBeSent') requests.push(params.request.url);
    if (method === 'Runtime.exceptionThrown') faults.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === 'Log.entryAdded' && params.entry.level === 'error') faults.push(params.entry.text);
    if (method === 'Page.javascriptDialogOpening') faults.push(`a dialog: ${params.message}`);
  });
  for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await send(`${domain}.enable`);
  const page = {
    send, requests, faults,
    /** Opens an address and waits until it is loaded. */
    async open(url) {
      await send('Page.navigate', { url });
      await page.until("document.readyState === 'complete'");
    },
    /** The value of an expression, awaited. */
    async value(expression) {
      const { result, exceptionDetails } = await send('Runtime.evaluate', {
        expression, awaitPromise: true, returnByValue: true,
      });
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    },
    /** Waits until an expression is true. */
    async until(expression, limit = 60_000) {
      const end = Date.now() + limit;
      for (;;) {
        if (await page.value(`Boolean(${expression})`).catch(() => false)) return;
        if (Date.now() > end) throw new Error(`it never became true: ${expression}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async screenshot() {
      const { data } = await send('Page.captureScreenshot', { format: 'png' });
      return Buffer.from(data, 'base64');
    },
    size: (width, height) =>
      send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 }),
  };
  return page;
}
