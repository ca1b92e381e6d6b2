// The types of the adapter for the AI SDK of Vercel.

import type { Chat } from './types.js';

/** The tools of a chat for `generateText` and `streamText`; `jsonSchema` is that of the package `ai`. */
export function aiTools<Schema>(
  chat: Chat,
  options: { jsonSchema: (schema: any) => Schema },
): Record<
  string,
  {
    description: string;
    inputSchema: Schema;
    execute: (input: unknown, options?: { abortSignal?: AbortSignal }) => Promise<string>;
  }
>;
