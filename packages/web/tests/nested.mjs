// Callbacks that use the skills that they serve, with and without a wait before. `node nested.mjs PACKAGE` runs them where
// the runtime does not say which call is inside which, as in a browser.

const text = (name) => `---\nname: ${name}\ndescription: About ${name}.\n---\nBody.\n`;
/** A wait that is longer than a promise's. */
const turn = () => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { port1.close(); resolve(); };
  port2.postMessage(null);
});

/** What each such use becomes: the name of the error, and how many skills and calls there are afterwards. */
export async function nestedUses({ Skills }) {
  const said = {};
  const outcome = (work) => work.then(() => 'done', ({ name, code }) => `${name} ${code}`);
  for (const [before, wait] of Object.entries({ atOnce: () => undefined, later: turn })) {
    let skills;
    let nested = false;
    const source = {
      async list() {
        if (nested) {
          await wait();
          await skills.refresh();
        }
        return ['a'];
      },
      async read(id, path) {
        if (path === 'SKILL.md') return text(id);
        await wait();
        return skills.read(id, path);
      },
      async files(id) {
        await wait();
        return skills.files(id);
      },
    };
    skills = await Skills.open(source, { selector: async (query) => { await wait(); return skills.search(`${query}.`); } });
    nested = true;
    said[`refresh ${before}`] = await outcome(skills.refresh());
    nested = false;
    said[`read ${before}`] = await outcome(skills.read('a', 'x.md'));
    said[`files ${before}`] = await outcome(skills.files('a'));
    said[`search ${before}`] = await outcome(skills.search('about'));
    // Nothing of it is left.
    said[`then ${before}`] = await outcome(skills.refresh());
  }
  return said;
}

/** How many of many independent calls succeed, each of which waits for a callback. */
export async function manyCalls({ Skills }) {
  let open;
  const gate = new Promise((resolve) => { open = resolve; });
  let stuck = false;
  const read = async (id, path) => { if (stuck) await gate; return path === 'SKILL.md' ? text(id) : 'x'; };
  const skills = await Skills.open({ list: async () => { if (stuck) await gate; return ['a', 'b']; }, read }, {
    selector: async (_, all) => { if (stuck) await gate; return all.map(({ key }) => key); },
  });
  const chat = skills.chat();
  stuck = true;
  const calls = Array.from({ length: 200 }, (_, at) => [
    skills.refresh(), skills.search('about'), skills.read('a', `x${at}.md`), chat.call('read_skill_resource', { name: 'b', path: 'x.md' }),
  ]).flat();
  open();
  const settled = await Promise.allSettled(calls);
  return settled.filter(({ status }) => status === 'fulfilled').length;
}

export const BUSY = Object.fromEntries(['atOnce', 'later'].flatMap((before) => [
  ...['refresh', 'read', 'files', 'search'].map((use) => [`${use} ${before}`, 'BusyError busy']), [`then ${before}`, 'done'],
]));

if (globalThis.process?.argv?.[1]?.endsWith('nested.mjs')) {
  delete process.getBuiltinModule;
  const prowess = await import(process.argv[2]);
  await prowess.init?.();
  console.log(JSON.stringify([await nestedUses(prowess), await manyCalls(prowess)]));
}
