// The adapters against the real packages. Their servers are functions here: each says what was sent, and answers.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI, mcpToTool } from '@google/genai';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { generateText, jsonSchema, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import OpenAI from 'openai';
import { Skills } from 'prowess';
import { aiTools, answerResponses, anthropicTools, geminiTool, mcpClient, openaiTools, responsesTools } from 'prowess/adapters';

import { newFolder, skill, write } from './place.mjs';

const folder = write(newFolder(), { 'tidy-up/SKILL.md': skill('tidy-up', 'Tidies up a desk.', 'Sweep the desk.') });
const newChat = async () => (await Skills.open(folder)).chat('chat-1');

/** A `fetch` that returns these answers in turn, and keeps what was sent. */
function answering(...answers) {
  const sent = [];
  const fetch = async (_, { body }) => {
    sent.push(JSON.parse(body));
    return new Response(JSON.stringify(answers[sent.length - 1]), { headers: { 'content-type': 'application/json' } });
  };
  return { fetch, sent };
}

test('Anthropic: a request takes the tools, and a response is answered', async () => {
  const chat = await newChat();
  const use = { type: 'tool_use', id: 't1', name: 'load_skill', input: { name: 'tidy-up' } };
  const message = (content, stop_reason) => ({ id: 'm', type: 'message', role: 'assistant', model: 'm', content, stop_reason, usage: {} });
  const { fetch, sent } = answering(message([use], 'tool_use'), message([{ type: 'text', text: 'done' }], 'end_turn'));
  const client = new Anthropic({ apiKey: 'k', fetch });
  const messages = [{ role: 'user', content: 'Tidy up.' }];
  const ask = async () => client.messages.create({ model: 'm', max_tokens: 9, system: await chat.prompt(), tools: chat.tools('anthropic'), messages });
  const first = await ask();
  messages.push({ role: 'assistant', content: first.content }, { role: 'user', content: await chat.answerAll('anthropic', first) });
  await ask();
  assert.equal(sent[0].tools.find(({ name }) => name === 'load_skill').input_schema.type, 'object');
  const [result] = sent[1].messages.at(-1).content;
  assert.deepEqual([result.type, result.tool_use_id, result.is_error], ['tool_result', 't1', false]);
  assert.match(result.content, /Sweep the desk\./);
});

test('Anthropic: the tool runner calls skills by itself', async () => {
  const use = { type: 'tool_use', id: 't1', name: 'load_skill', input: { name: 'tidy-up' } };
  const message = (content, stop_reason) => ({ id: 'm', type: 'message', role: 'assistant', model: 'm', content, stop_reason, usage: {} });
  const { fetch, sent } = answering(message([use], 'tool_use'), message([{ type: 'text', text: 'done' }], 'end_turn'));
  const runner = new Anthropic({ apiKey: 'k', fetch }).beta.messages.toolRunner({
    model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Tidy up.' }], tools: anthropicTools(await newChat()),
  });
  const last = await runner;
  assert.equal(last.content[0].text, 'done');
  assert.match(JSON.stringify(sent[1].messages.at(-1)), /Sweep the desk\./);
});

test('OpenAI: chat completions and responses', async () => {
  const chat = await newChat();
  const call = { id: 'c1', type: 'function', function: { name: 'load_skill', arguments: '{"name":"tidy-up"}' } };
  const completion = (message, finish_reason) => ({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason }] });
  const completions = answering(completion({ tool_calls: [call] }, 'tool_calls'), completion({ content: 'done' }, 'stop'));
  const client = new OpenAI({ apiKey: 'k', fetch: completions.fetch });
  const first = await client.chat.completions.create({ model: 'm', messages: [], tools: chat.tools('openai') });
  const [answer] = await chat.answerAll('openai', first);
  assert.deepEqual([answer.role, answer.tool_call_id], ['tool', 'c1']);
  assert.match(answer.content, /Sweep the desk\./);

  const running = answering(completion({ tool_calls: [call] }, 'tool_calls'), completion({ content: 'done' }, 'stop'));
  const runner = new OpenAI({ apiKey: 'k', fetch: running.fetch }).chat.completions.runTools({
    model: 'm', messages: [{ role: 'user', content: 'Tidy up.' }], tools: openaiTools(await newChat()),
  });
  assert.equal(await runner.finalContent(), 'done');
  assert.match(running.sent[1].messages.at(-1).content, /Sweep the desk\./);

  const item = { type: 'function_call', id: 'f1', call_id: 'c1', name: 'load_skill', arguments: '{"name":"tidy-up"}' };
  const responses = answering({ id: 'r', object: 'response', output: [{ type: 'message', content: [] }, item, { ...item, name: 'other' }] });
  const response = await new OpenAI({ apiKey: 'k', fetch: responses.fetch }).responses.create({ model: 'm', input: 'Tidy up.', tools: responsesTools(chat) });
  const items = await answerResponses(chat, response);
  assert.deepEqual([items.length, items[0].type, items[0].call_id], [1, 'function_call_output', 'c1']);
  assert.equal(responses.sent[0].tools[0].type, 'function');
});

test('Google GenAI: a request takes the tools, and the package calls them by itself', async () => {
  const part = { functionCall: { id: 'g1', name: 'load_skill', args: { name: 'tidy-up' } } };
  const candidate = (parts) => ({ candidates: [{ content: { role: 'model', parts } }] });
  const withFetch = async (answers, work) => {
    const { fetch, sent } = answering(...answers);
    const before = globalThis.fetch;
    globalThis.fetch = fetch;
    try {
      return { result: await work(new GoogleGenAI({ apiKey: 'k' })), sent };
    } finally {
      globalThis.fetch = before;
    }
  };
  const chat = await newChat();
  const { result } = await withFetch([candidate([part])], (client) =>
    client.models.generateContent({ model: 'm', contents: 'Tidy up.', config: { tools: chat.tools('gemini') } }));
  const [answer] = await chat.answerAll('gemini', { candidates: result.candidates });
  assert.equal(answer.functionResponse.name, 'load_skill');
  assert.match(answer.functionResponse.response.output, /Sweep the desk\./);

  for (const tool of [geminiTool(await newChat()), mcpToTool(mcpClient(await newChat()))]) {
    const { result: last, sent } = await withFetch([candidate([part]), candidate([{ text: 'done' }])], (client) =>
      client.models.generateContent({ model: 'm', contents: 'Tidy up.', config: { tools: [tool] } }));
    assert.equal(last.text, 'done');
    assert.match(JSON.stringify(sent[1].contents), /Sweep the desk\./);
  }
});

test('the AI SDK of Vercel calls skills by itself', async () => {
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const prompts = [];
  const model = new MockLanguageModelV3({
    doGenerate: async ({ prompt, tools }) => {
      prompts.push({ prompt, tools });
      const call = { type: 'tool-call', toolCallId: 'v1', toolName: 'load_skill', input: '{"name":"tidy-up"}' };
      return prompts.length === 1
        ? { content: [call], finishReason: { unified: 'tool-calls' }, usage, warnings: [] }
        : { content: [{ type: 'text', text: 'done' }], finishReason: { unified: 'stop' }, usage, warnings: [] };
    },
  });
  const tools = aiTools(await newChat(), { jsonSchema });
  const { text } = await generateText({ model, tools, prompt: 'Tidy up.', stopWhen: stepCountIs(3) });
  assert.equal(text, 'done');
  assert.match(JSON.stringify(prompts[1].prompt), /Sweep the desk\./);
  assert.ok(prompts[0].tools.some(({ name, inputSchema }) => name === 'load_skill' && inputSchema.type === 'object'));
});

test('an MCP client uses the server of the command', { timeout: 60_000 }, async () => {
  const command = new URL('../../../node_modules/.bin/prowess', import.meta.url).pathname;
  const transport = new StdioClientTransport({ command, args: ['serve', '--in', folder] });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  try {
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 'load_skill'), JSON.stringify(tools));
    const loaded = await client.callTool({ name: 'load_skill', arguments: { name: 'tidy-up' } });
    assert.match(loaded.content[0].text, /Sweep the desk\./);
    // In the same form as a chat in this process.
    const own = await mcpClient(await newChat()).callTool({ name: 'load_skill', arguments: { name: 'tidy-up' } });
    assert.equal(own.content[0].text, loaded.content[0].text);
    assert.equal((await mcpClient(await newChat()).callTool({ name: 'other' })).isError, true);
  } finally {
    await client.close();
  }
});
