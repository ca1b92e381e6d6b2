// Skills as tools of other packages: each function returns what a package takes, and none of them is a dependency.

import { InvalidArgumentError } from './errors.js';
import { isWellFormed, needChat, needOptions } from './values.js';

export { aiTools } from './ai-sdk.js';

/** Calls a tool of a chat, and returns the text for the model. */
const textOf = async (chat, name, input, signal) => (await chat.call(name, input, { signal: signal ?? undefined })).text;

/** Tools for `client.beta.messages.toolRunner` of `@anthropic-ai/sdk`. */
export function anthropicTools(chat) {
  return needChat(chat).toolDefinitions().map(({ name, description, inputSchema }) => ({
    type: 'custom',
    name,
    description,
    input_schema: inputSchema,
    parse: (input) => input,
    run: (input, context) => textOf(chat, name, input, context?.signal),
  }));
}

/** Tools for `client.chat.completions.runTools` of `openai`. Arguments stay text, so that the session refuses bad JSON. */
export function openaiTools(chat) {
  return needChat(chat).toolDefinitions().map(({ name, description, inputSchema }) => ({
    type: 'function',
    function: {
      name,
      description,
      parameters: inputSchema,
      function: (input, runner) => textOf(chat, name, input, runner?.controller?.signal),
    },
  }));
}

/** Tools for `client.responses.create` of `openai`. */
export function responsesTools(chat) {
  return needChat(chat).toolDefinitions().map(({ name, description, inputSchema }) => ({
    type: 'function', name, description, parameters: inputSchema, strict: false,
  }));
}

/** Answers the calls of a response of `client.responses.create`: the items for the next input. */
export async function answerResponses(chat, response, options) {
  needChat(chat);
  const items = Array.isArray(response) ? response : (needOptions(response, 'the response').output ?? []);
  const answers = [];
  for (const item of items) {
    const { type, call_id, name, arguments: input } = needOptions(item, 'an item of the response');
    const isCall = type === 'function_call' && typeof name === 'string' && isWellFormed(name);
    if (!isCall || !chat.owns(name)) continue;
    if (typeof call_id !== 'string') throw new InvalidArgumentError(`the call of ${name} has no call_id`);
    const { text } = await chat.call(name, input, options);
    answers.push({ type: 'function_call_output', call_id, output: text });
  }
  return answers;
}

/** A callable tool for `config.tools` of `@google/genai`, with which it calls functions by itself; a `signal` ends them. */
export function geminiTool(chat, options) {
  const { signal } = needOptions(options);
  needChat(chat);
  return {
    tool: async () => chat.tools('gemini')[0] ?? { functionDeclarations: [] },
    callTool: async (calls) => {
      const parts = [];
      for (const functionCall of calls) {
        const part = await chat.answer('gemini', { functionCall }, { signal });
        if (part !== null) parts.push(part);
      }
      return parts;
    },
  };
}

/** The tools of a chat as an MCP client has them, for packages that take a connected client. */
export function mcpClient(chat) {
  needChat(chat);
  return {
    listTools: async () => ({ tools: chat.tools('mcp') }),
    callTool: async ({ name, arguments: input }, _schema, options) => {
      const answer = await chat.answer('mcp', { name, arguments: input ?? {} }, { signal: options?.signal });
      return answer ?? { content: [{ type: 'text', text: `there is no tool ${name}` }], isError: true };
    },
  };
}
