// The package and the playground in a headless Chromium. `CHROMIUM` names the program.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { launch, serve } from './chromium.mjs';
import { BUSY } from './nested.mjs';
import { IN_WEBASSEMBLY } from './vectors.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
let browser;
let server;

before(async () => {
  server = await serve(root);
  browser = await launch(process.env.CHROMIUM ?? 'chromium');
});
after(async () => {
  await browser?.close();
  server?.close();
});

/** The playground, ready. `SCREENSHOTS` names a folder for pictures of it. */
async function playground(width = 1280, height = 860) {
  const page = await browser.page();
  await page.size(width, height);
  await page.open(`${server.origin}/packages/web/playground/index.html`);
  await page.until("document.documentElement.dataset.ready === 'true'");
  page.keep = async (name) => {
    if (process.env.SCREENSHOTS) await writeFile(`${process.env.SCREENSHOTS}/${name}.png`, await page.screenshot());
  };
  page.choose = (id, value) =>
    page.value(`(() => { const one = document.getElementById('${id}'); one.value = ${JSON.stringify(value)};
      one.dispatchEvent(new Event('change', { bubbles: true })); one.dispatchEvent(new Event('input', { bubbles: true })); })()`);
  page.text = (id) => page.value(`document.getElementById('${id}').textContent`);
  return page;
}

/** What must hold of the page however it was used. */
async function assertClean(page) {
  assert.deepEqual(page.faults, []);
  const foreign = page.requests.filter((url) => !url.startsWith(server.origin) && !url.startsWith('data:'));
  assert.deepEqual(foreign, []);
  assert.equal(await page.value("document.querySelectorAll('pre *, .message *, .help *').length"), 0);
}

test('the vectors hold in Chromium as they do in Node', async (context) => {
  const page = await browser.page();
  await page.open(`${server.origin}/`);
  const { cases, leftOut, faults } = await page.value(`(async () => {
    const prowess = await import('/packages/web/dist/index.js');
    const { runVectors, summary } = await import('/packages/web/tests/vectors.mjs');
    await prowess.init();
    const load = async (path) => { const file = await fetch('/conformance/' + path); return path.endsWith('.json') ? file.json() : file.text(); };
    return summary(await runVectors(prowess, load, { unknownSystem: true }));
  })()`);
  context.diagnostic(`${cases} vectors; ${leftOut.length} left out`);
  assert.deepEqual(faults, []);
  assert.deepEqual({ cases, leftOut: leftOut.length }, IN_WEBASSEMBLY);
});

test('callbacks that never end are busy in Chromium, and calls that only wait are not', async () => {
  const page = await browser.page();
  await page.open(`${server.origin}/`);
  const [said, fulfilled] = await page.value(`(async () => {
    const prowess = await import('/packages/web/dist/index.js');
    const { manyCalls, nestedUses } = await import('/packages/web/tests/nested.mjs');
    await prowess.init();
    return [await nestedUses(prowess), await manyCalls(prowess)];
  })()`);
  assert.deepEqual([said, fulfilled], [BUSY, 800]);
});

test('the playground shows problems, fixes and costs as the user types', async () => {
  const page = await playground();
  assert.match(await page.text('status'), /no problems/);
  assert.match(await page.text('prompt'), /- release-notes: Writes release notes/);
  assert.match(await page.text('prompt-cost'), /About \d+ tokens/);
  await page.keep('light');

  await page.value("(() => { const text = document.getElementById('text'); text.focus(); text.select(); })()");
  await page.send('Input.insertText', { text: '---\nname: x\ndescription: Use when: asked\nallowed-tools: Read, Grep\n---\nHi\n' });
  await page.choose('folder', 'x');
  await page.until("document.querySelectorAll('#problems li').length >= 2");
  assert.match(await page.text('status'), /\d+ errors?/);
  const price = await page.text('costs');
  await page.choose('price', '6');
  await page.until(`document.getElementById('costs').textContent !== ${JSON.stringify(price)}`);
  await page.keep('problems');

  const before = await page.value("document.querySelectorAll('#problems li').length");
  await page.value("document.querySelector('#problems button:not(.plain)').click()");
  await page.until(`document.querySelectorAll('#problems li').length < ${before}`);
  await page.value("document.getElementById('fix-all').click()");
  await page.until("document.getElementById('fix-all').hidden");
  assert.match(await page.value("document.getElementById('text').value"), /'Use when: asked'\nallowed-tools: Read Grep/);
  await page.value("document.querySelector('#problems .plain')?.click()");
  await assertClean(page);
});

test('the playground as one file needs no server', async () => {
  const page = await browser.page();
  await page.open(new URL('../dist/playground.html', import.meta.url).href);
  await page.until("document.documentElement.dataset.ready === 'true'");
  assert.match(await page.value("document.getElementById('status').textContent"), /no problems/);
  await page.value(`(() => { const text = document.getElementById('text'); text.value = '---\\nname: X\\n---\\n';
    text.dispatchEvent(new Event('input')); })()`);
  await page.until("document.querySelectorAll('#problems li').length >= 2");
  assert.deepEqual(page.faults, []);
  assert.deepEqual(page.requests.filter((url) => !url.endsWith('/dist/playground.html') && !url.startsWith('data:')), []);
});

test('hostile text stays text', async () => {
  const page = await playground();
  await page.choose('example', 'hostile');
  await page.until("document.getElementById('prompt').textContent.includes('hidden')");
  const prompt = await page.text('prompt');
  assert.ok(prompt.includes('&lt;script') && !prompt.includes('\u202e'), prompt);
  assert.equal((await page.text('activation')).split('</skill_content>').length, 2);
  await page.value(`(() => { const text = document.getElementById('text');
    text.value = '---\\nname: <img src=x onerror=alert(1)>\\ndescription: "<b>x</b>"\\n"<i>k</i>": 1\\n---\\n<script>alert(1)</script>';
    text.dispatchEvent(new Event('input')); })()`);
  await page.until("document.getElementById('problems').textContent.includes('onerror')");
  assert.equal(await page.value("document.querySelectorAll('main img, main b, main i, main script').length"), 0);
  await page.keep('hostile');
  await assertClean(page);
});

test('an empty, a huge and a broken text do no harm', async () => {
  const page = await playground();
  for (const [text, status] of [
    ["''", /Paste a SKILL/], ["'x'.repeat(3e6)", /error/], ["'---\\n' + '['.repeat(5e4)", /error/], ["'\\ud800'", /error/],
    ["'\\0'", /error/],
  ]) {
    await page.value(`(() => { const one = document.getElementById('text'); one.value = ${text};
      document.getElementById('status').textContent = 'waiting'; one.dispatchEvent(new Event('input')); })()`);
    await page.until("document.getElementById('status').textContent !== 'waiting'");
    assert.match(await page.text('status'), status);
  }
  // A fix over half of a surrogate pair.
  await page.value(`(() => { const one = document.getElementById('text');
    one.value = '---\\nname: x\\ndescription: Use when: asked \\ud800\\n---\\n'; one.dispatchEvent(new Event('input')); })()`);
  await page.until("!document.getElementById('fix-all').hidden");
  await page.value("document.getElementById('fix-all').click()");
  await page.until("document.getElementById('text').value.includes(\"'Use when: asked\")");
  await assertClean(page);
});

test('every control has a name, and the page fits a phone in both themes', async () => {
  const page = await playground(360, 740);
  const unnamed = await page.value(`[...document.querySelectorAll('input, select, textarea, button')]
    .filter((one) => !(one.labels?.length || one.textContent.trim() || one.getAttribute('aria-label'))).map((one) => one.id)`);
  assert.deepEqual(unnamed, []);
  await page.choose('example', 'broken');
  assert.ok((await page.value('document.documentElement.scrollWidth')) <= 360);
  await page.keep('phone');
  const paper = () => page.value('getComputedStyle(document.body).backgroundColor');
  const light = await paper();
  await page.value("document.getElementById('theme').click()");
  assert.notEqual(await paper(), light);
  assert.equal(await page.value("document.getElementById('theme').getAttribute('aria-pressed')"), 'true');
  await page.keep('phone-dark');
  // Text against its background, as WCAG asks for normal text.
  const contrasts = await page.value(`(() => {
    const light = (color) => { const [r, g, b] = color.match(/[\\d.]+/g).map((v) => { const c = v / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const behind = (one) => { for (let at = one; at; at = at.parentElement) { const { backgroundColor } = getComputedStyle(at);
      if (!/, 0\\)$|transparent/.test(backgroundColor)) return backgroundColor; } return 'rgb(255, 255, 255)'; };
    return [...document.querySelectorAll('p, code, .severity, button, label, td, th, pre')].filter((one) => one.offsetParent).map((one) => {
      const [a, b] = [light(getComputedStyle(one).color), light(behind(one))].sort((x, y) => y - x);
      return [one.className || one.id || one.tagName, (a + 0.05) / (b + 0.05)]; }).filter(([, ratio]) => ratio < 4.5);
  })()`);
  assert.deepEqual(contrasts, []);
  await assertClean(page);
});
