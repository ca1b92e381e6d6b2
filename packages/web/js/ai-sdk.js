// Skills as tools of the AI SDK of Vercel. The package `ai` is the host's: its `jsonSchema` is an argument.

import { needChat, needFunction, needOptions } from './values.js';

/**
 * The tools of a chat for `generateText` and `streamText`: `{...aiTools(chat, { jsonSchema })}`. A refused call is text
 * for the model, as in every other interface.
 */
export function aiTools(chat, options) {
  const { jsonSchema } = needOptions(options);
  needFunction(jsonSchema, 'jsonSchema');
  return Object.fromEntries(
    needChat(chat).toolDefinitions().map(({ name, description, inputSchema }) => [
      name,
      {
        description,
        inputSchema: jsonSchema(inputSchema),
        execute: async (input, { abortSignal } = {}) => (await chat.call(name, input, { signal: abortSignal })).text,
      },
    ]),
  );
}
