// The vectors of sessions: calls of a model and actions of its host, over skills in memory.

/** Why a case needs more than a session over skills in memory; undefined if it does not. */
function needsMore({ id, args = [], lines }, { unknownSystem, place }) {
  if (unknownSystem && id === 'names-of-this-system') return 'needs to know the system';
  if (place === undefined && lines.some((line) => line.do?.link !== undefined)) return 'needs links of a file system';
  const replay = (call) =>
    typeof call !== 'object' ||
    Array.isArray(call) ||
    Object.keys(call).some((name) => !['tool', 'arguments', 'host', 'filter'].includes(name)) ||
    call.host === 'dance' ||
    (call.host !== undefined && call.arguments?.unheard !== undefined);
  if (lines.some((line) => line.call !== undefined && replay(line.call))) return 'is about the lines of `replay`';
  if (args.includes('--model-only')) return 'is about the lines of `replay`';
  return undefined;
}

/** The folder above that of the skills, which the vectors call `[DIR]`. */
const ROOT = '/vectors';

/** The skills of files: every folder with a SKILL.md. */
function sourceOf(files) {
  const encoder = new TextEncoder();
  const folderOf = (path) => path.slice(0, -'/SKILL.md'.length);
  const below = (id) => Object.keys(files).filter((path) => path.startsWith(`${id}/`));
  return {
    label: 'skills',
    list: () =>
      Object.keys(files)
        .filter((path) => path.toLowerCase().endsWith('/skill.md'))
        .sort()
        .map((path) => ({ id: folderOf(path), location: `${ROOT}/skills/${path}` })),
    files: (id) => below(id).map((path) => ({ path: path.slice(id.length + 1), size: encoder.encode(files[path]).length })),
    read: (id, path) => {
      const own = path === 'SKILL.md' && files[`${id}/SKILL.md`] === undefined ? 'skill.md' : path;
      if (below(`${id}/${own}`).length > 0) throw Object.assign(new Error('this is a folder'), { code: 'EISDIR' });
      return files[`${id}/${own}`] ?? null;
    },
  };
}

/** The files of a case in memory: their root, the source over them, and how they change. */
function inMemory(given) {
  const files = { ...given };
  return {
    root: ROOT,
    source: (preload) => ({ source: sourceOf(files), preload }),
    apply({ remove = [], write = {} }) {
      for (const gone of remove) {
        for (const path of Object.keys(files)) if (path === gone || path.startsWith(`${gone}/`)) delete files[path];
      }
      Object.assign(files, write);
    },
  };
}

/** The options of the command line that a case gives. */
function settingsOf(prowess, args = []) {
  const policy = {};
  const options = {};
  let preload = false;
  for (let at = 0; at < args.length; at += 2) {
    const [name, value] = [args[at], args[at + 1]];
    if (name === '--tools') policy.hostTools = prowess.parseAllowedTools(value).grants.map((grant) => grant.raw);
    else if (name === '--filter') policy.filter = value;
    else if (name === '--naming') options.naming = value;
    else if (name === '--max-active') options.maxActive = Number(value);
    else if (name === '--in' && value === 'dir=skills,preload=true') preload = true;
    else throw new Error(`no such option of a vector: ${name} ${value}`);
  }
  return { policy, options, preload };
}

/** The settings of a chat that `begin` asks for. */
function begun(asked) {
  const options = {
    naming: asked.naming, namespace: asked.namespace, maxActive: asked.max_active, whenFull: asked.when_full,
    lifetime: asked.lifetime, repeat: asked.repeat, hintFiles: asked.hint_files,
    inlineResources: asked.inline_bytes !== undefined, maxActivationBytes: asked.max_activation_bytes,
    maxKeptBytes: asked.max_kept_bytes,
    activation: { plain: asked.plain, maxInlineBytes: asked.inline_bytes }, maxFiles: asked.max_files,
    maxResourceBytes: asked.max_bytes, tooLarge: asked.too_large, maxEnum: asked.max_enum,
    catalogInTool: asked.catalog_in_tool && { style: { shape: asked.catalog_in_tool } }, instruction: asked.instruction,
  };
  const policy = {
    allow: asked.allow, deny: asked.deny, filter: asked.filter, untrusted: asked.untrusted, toolMode: asked.mode,
    hostTools: asked.tools, scopes: asked.approve === undefined ? undefined : { explicit: { approve: true } },
  };
  return { policy, options };
}

const done = (text, data) => ({ ok: true, text, data, reason: null });

/** What a host does between the calls of a model. */
async function act(prowess, host, what, args) {
  const { skills } = host;
  switch (what) {
    case 'begin': {
      const { policy, options } = begun(args);
      const bare = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
      host.approving = args.approve === true;
      host.chat = skills.chat('vector', {
        policy: bare(policy), options: { ...bare(options), activation: bare(options.activation) },
      });
      await host.chat.prompt();
      return done('', { tools: host.chat.tools(args.dialect ?? 'mcp') });
    }
    case 'active':
      return done('', { skills: host.chat.active, tools: host.chat.activeTools });
    case 'deactivate': {
      const removed = host.chat.deactivate(args.name);
      return done('', { deactivated: removed !== null, removed_tools: removed ?? [] });
    }
    case 'end_turn':
      return done('', { deactivated: host.chat.endTurn() });
    case 'log': {
      const wanted = (event) => args.events === undefined || args.events.includes(event.event);
      return done('', { events: host.chat.log.filter(wanted) });
    }
    case 'preload': {
      const results = await host.chat.preload(args.names ?? []);
      const failed = results.filter(({ result }) => result.reason !== null);
      return done('', {
        active: host.chat.active, failed: failed.map(({ name, result }) => ({ name, reason: result.reason })),
      });
    }
    case 'prompt': {
      const style = Object.fromEntries(
        Object.entries(args.style ?? { shape: 'xml' }).map(([key, value]) => [
          key.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()), value,
        ]),
      );
      const narrowing = args.top_k === undefined ? {} : { topK: args.top_k };
      const budget = args.characters === undefined ? null : { characters: args.characters };
      const options = { style: { shape: 'xml', ...style }, budget, query: args.query, narrowing, folder: args.folder ?? '' };
      const { text, total, included, omitted, shortened } = await host.chat.promptWith(options);
      return done(text, { total, included, omitted, shortened });
    }
    case 'refresh': {
      const before = host.chat.active;
      await skills.refresh();
      const after = host.chat.active;
      return done('', { deactivated: before.filter((key) => !after.includes(key)), changed: host.chat.changed });
    }
    case 'reinject': {
      const limit = (count) => (count === undefined ? { characters: 1e9 } : { characters: count });
      const again = host.chat.reinject({ each: limit(args.each), total: limit(args.total) });
      return done(again.text, { included: again.included, cut: again.cut, omitted: again.omitted });
    }
    case 'restore':
      host.chat = skills.restore(JSON.stringify(host.chat.state), host.settings);
      return done('', { skills: host.chat.active, tools: host.chat.activeTools });
    case 'scope':
      return done('', { tools: host.chat.scopeTools(args.tools) });
    case 'set_filter':
      return done('', { deactivated: host.chat.setFilter(args.filter) });
    case 'user': {
      const results = await host.chat.userMessage(args.message);
      const text = prowess.compose(results.map((result) => result.text));
      const refused = results.find((result) => result.reason !== null);
      const data = { skills: results.map((result) => result.data) };
      return { ok: refused === undefined, text, data, reason: refused?.reason ?? null };
    }
    default:
      throw new Error(`no such action: ${what}`);
  }
}

/** Whether every expected member is there; lists must have the expected length. */
function covers(wanted, found) {
  if (wanted === null || wanted === undefined) return true;
  if (Array.isArray(wanted)) {
    return Array.isArray(found) && wanted.length === found.length && wanted.every((one, at) => covers(one, found[at]));
  }
  if (typeof wanted === 'object') {
    return Object.entries(wanted).every(
      ([key, value]) => found !== null && typeof found === 'object' && key in found && covers(value, found[key]),
    );
  }
  return wanted === found;
}

function differences(expect, result) {
  const line = JSON.stringify({ ok: result.ok, text: result.text, data: result.data, reason: result.reason });
  const faults = [];
  const need = (holds, what) => {
    if (!holds) faults.push(`${what}: ${line}`);
  };
  need(expect.ok === undefined || expect.ok === result.ok, 'ok');
  need(result.ok === (result.reason === null), 'ok and reason');
  need(!('reason' in expect) || expect.reason === result.reason, 'reason');
  need(expect.text === undefined || expect.text === result.text, 'text');
  for (const part of expect.contains ?? []) need(result.text.includes(part), `${JSON.stringify(part)} is not in`);
  for (const part of expect.lacks ?? []) need(!result.text.includes(part), `${JSON.stringify(part)} is in`);
  for (const part of expect.says ?? []) need(line.includes(part), `${JSON.stringify(part)} is not said in`);
  for (const part of expect.lacks_said ?? []) need(!line.includes(part), `${JSON.stringify(part)} is said in`);
  need(covers(expect.data, result.data), 'data');
  return faults;
}

/** The result of a call or an action. What `replay` refuses as a bad call is thrown here. */
async function answered(prowess, host, { tool, host: what, arguments: args = {}, filter }) {
  try {
    const result =
      what === undefined ? await host.chat.call(tool, exact(args), { filter }) : await act(prowess, host, what, args);
    return JSON.parse(JSON.stringify(result).replaceAll(host.root, '[DIR]'));
  } catch (error) {
    if (!(error instanceof prowess.InvalidArgumentError)) throw error;
    return { ok: false, text: error.message, data: null, reason: 'bad-call' };
  }
}

/** Arguments as text if one is an integer that no number of JavaScript is: 2^64 - 1 in the vectors. */
function exact(args) {
  return Number.isSafeInteger(args.offset ?? 0)
    ? args
    : JSON.stringify(args).replace('18446744073709552000', '18446744073709551615');
}

/**
 * The faults of a case, or why it is left out. `place` puts its files into a real folder: it returns the `root` above the
 * skills, the `source` over them, and `apply` for their changes.
 */
export async function runSessionCase(prowess, vector, how) {
  const more = needsMore(vector, how);
  if (more !== undefined) return more;
  const { root, source, apply } = how.place === undefined ? inMemory(vector.files) : await how.place(vector.files);
  const { policy, options, preload } = settingsOf(prowess, vector.args);
  const host = { root, approving: false, settings: { policy, options } };
  host.skills = await prowess.Skills.open([source(preload)], { policy, options, approve: () => host.approving });
  host.chat = host.skills.chat('vector');
  // The first call of a host activates the preloaded skills.
  await host.chat.prompt();
  const faults = [];
  for (const [at, line] of vector.lines.entries()) {
    if (line.do !== undefined) {
      await apply(line.do);
      continue;
    }
    const result = await answered(prowess, host, line.call);
    faults.push(...differences(line.expect, result).map((fault) => `line ${at + 1}: ${fault}`));
  }
  host.skills.close();
  return faults;
}
