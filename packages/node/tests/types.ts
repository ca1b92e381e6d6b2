// What a program in TypeScript may write; `tsc --strict` reads it, and nothing runs it.

import { jsonSchema, type ToolSet } from 'ai';
import type Anthropic from '@anthropic-ai/sdk';
import type { CallableTool, GoogleGenAI, Part } from '@google/genai';
import type OpenAI from 'openai';
import {
  type Chat, check, checkFolder, type Delta, fix, type Hit, type ListedSkill, load, LoadError, loadFolder, memorySource,
  type Problem, ProwessError, search, type Select, Skills, type Source, type ToolResult, WatchError,
} from 'prowess';
import { aiTools, answerResponses, anthropicTools, geminiTool, mcpClient, openaiTools, responsesTools } from 'prowess/adapters';
import { createSkillRegistry, nodeSkillSource, type SkillManifest } from 'prowess/deuz';
import { parseSkill, scanSkillDirs, skillLoadTool, type SkillSpec } from 'prowess/drover';

const problems: Problem[] = check('text', { profile: 'spec', folder: 'a', levels: { 'name-too-long': 'warning' } });
const fixed: string = fix('text', { all: true }).text;
const hits: Hit[] = search([load('x'), { name: 'a', description: 'b' }], 'query', { topK: null, selector: 'keyword' });

const source: Source = {
  label: 'mine',
  async *list({ signal }) {
    signal?.throwIfAborted();
    yield 'a';
    yield { id: 'b', text: new Uint8Array() };
  },
  read: async (id, path, { signal }) => (id === path && signal ? null : 'text'),
  files: () => ['SKILL.md', { path: 'x', size: 1 }],
};
const select: Select = async (query, skills, { limit }) => skills.slice(0, limit).map(({ key }) => ({ key, score: query.length }));

export async function main(signal: AbortSignal): Promise<void> {
  const skills: Skills = await Skills.open(['./skills', source, { source, prefix: 'p' }, { dir: new URL('file:///x'), keyFrom: 'folder' }, { user: true }], {
    selector: { select }, embed: async (texts) => texts.map(() => new Float32Array(3)), approve: (skill: ListedSkill, digest) => digest.length > skill.key.length,
    run: async () => ({ code: 0, output: '' }), onError: (error, effect) => console.error(error, effect?.kind), signal,
  });
  const mine: Skills = await Skills.ofUser({ from: '.', client: 'codex', policy: { deny: ['x'] } });
  for await (const delta of mine.watch({ signal })) {
    const changes: Delta = delta;
    changes.added.push('x');
  }
  for (const { key, problems: own } of skills) console.log(key, own.length);
  const chat: Chat = skills.chat('c', { options: { maxActive: 3, naming: 'drover' }, prompt: { budget: { tokens: 100 } } });
  const anthropic: Anthropic = null as never;
  const said = await anthropic.messages.create({ model: 'm', max_tokens: 9, messages: [], system: await chat.prompt(), tools: chat.tools('anthropic') });
  const asked: Anthropic.MessageParam[] = [{ role: 'assistant', content: said.content }, { role: 'user', content: await chat.answerAll('anthropic', said) }];
  const openai: OpenAI = null as never;
  const completion = await openai.chat.completions.create({ model: 'm', messages: [], tools: chat.tools('openai') });
  const turns: OpenAI.ChatCompletionMessageParam[] = await chat.answerAll('openai', completion);
  const google: GoogleGenAI = null as never;
  const generated = await google.models.generateContent({ model: 'm', contents: 'x', config: { tools: chat.tools('gemini') } });
  const parts: Part[] = await chat.answerAll('gemini', generated);
  const one = await chat.answer('mcp', { name: 'load_skill', arguments: {} });
  console.log(asked, turns, parts, one?.isError, chat.tools()[0]?.annotations.readOnlyHint);
  const part: Uint8Array = await skills.read('a', 'x', { offset: 1, limit: 2, signal });
  console.log(part);
  const result: ToolResult = await chat.call('load_skill', { name: 'a' }, { signal });
  if (result.reason === null) console.log(result.text, await chat.prompt(), chat.tools('openai'));
  try {
    await loadFolder('x', { profile: 'spec' });
    await checkFolder(new URL('file:///x'));
  } catch (error) {
    if (error instanceof LoadError) console.log(error.code, error.problems[0]?.message);
    if (error instanceof WatchError) throw new ProwessError('x', { cause: error, code: 'x' });
  }
  const bytes: Uint8Array = await skills.read('a', 'x.bin', { signal });
  console.log(bytes, problems, fixed, hits);

  const tools: ToolSet = aiTools(chat, { jsonSchema });
  const forAnthropic: Parameters<Anthropic['beta']['messages']['toolRunner']>[0]['tools'] = anthropicTools(chat);
  const forOpenAi: Parameters<OpenAI['chat']['completions']['runTools']>[0]['tools'] = openaiTools(chat);
  const forResponses: OpenAI.Responses.Tool[] = responsesTools(chat);
  const forGoogle: CallableTool = geminiTool(chat);
  const listed = (await mcpClient(chat).listTools()).tools.map(({ name }) => name);
  console.log(tools, forAnthropic, forOpenAi, forResponses, forGoogle, listed, await answerResponses(chat, { output: [] }));

  const manifest: SkillManifest = await createSkillRegistry({ source: nodeSkillSource(['x']) }).trigger('a');
  const specs: ReadonlyArray<SkillSpec> = await scanSkillDirs(['x'], { mode: 'lenient', onIssue: (file, issues) => console.log(file, issues[0]?.field) });
  const parsed: SkillSpec = parseSkill('x', 'a/SKILL.md', { skipParentDirCheck: true }).spec;
  const { content, isError } = await skillLoadTool({ registry: { get: () => parsed, has: () => true, list: () => specs }, allowed: [] }).execute({ name: 'a' });
  console.log(manifest.body, content, isError, memorySource({ a: 'x' }));
}

// @ts-expect-error: a profile is one of five names.
check('text', { profile: 'none' });
// @ts-expect-error: a source has a function read.
void Skills.open({ list: () => [] });
// @ts-expect-error: a dialect is one of four names.
(null as unknown as Chat).tools('other');
