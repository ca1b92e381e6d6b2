// The types of the adapters for other packages. They are written out here, so that none of the packages is needed.

import type { Abortable, Chat, DialectAnswer, DialectTool, InputSchema } from './types.js';

export { aiTools } from './ai-sdk.js';

export type { InputSchema } from './types.js';

export interface AnthropicTool {
  type: 'custom';
  name: string;
  description: string;
  input_schema: InputSchema;
  parse: (input: unknown) => any;
  run: (input: any, context?: { signal?: AbortSignal | null | undefined }) => Promise<string>;
}
/** Tools for `client.beta.messages.toolRunner` of `@anthropic-ai/sdk`. */
export function anthropicTools(chat: Chat): AnthropicTool[];

export interface OpenAiTool {
  type: 'function';
  function: {
    name: string;
    description: string;
    parameters: InputSchema;
    function: (input: string, runner?: any) => Promise<string>;
  };
}
/** Tools for `client.chat.completions.runTools` of `openai`. */
export function openaiTools(chat: Chat): OpenAiTool[];

export interface ResponsesTool {
  type: 'function';
  name: string;
  description: string;
  parameters: { [key: string]: unknown };
  strict: false;
}
/** Tools for `client.responses.create` of `openai`. */
export function responsesTools(chat: Chat): ResponsesTool[];
/** Answers the calls of a response of `client.responses.create`: the items for the next input. */
export function answerResponses(
  chat: Chat,
  response: { output?: readonly unknown[] } | readonly unknown[],
  options?: Abortable,
): Promise<{ type: 'function_call_output'; call_id: string; output: string }[]>;

export interface GeminiTool {
  tool(): Promise<{ functionDeclarations?: any[] }>;
  callTool(calls: { id?: string; name?: string; args?: Record<string, unknown> }[]): Promise<any[]>;
}
/** A callable tool for `config.tools` of `@google/genai`. */
export function geminiTool(chat: Chat, options?: Abortable): GeminiTool;

export interface McpClient {
  listTools(): Promise<{ tools: DialectTool['mcp'][] }>;
  callTool(
    call: { name: string; arguments?: { [key: string]: unknown } },
    schema?: unknown,
    options?: Abortable,
  ): Promise<DialectAnswer['mcp']>;
}
/** The tools of a chat as an MCP client has them, for packages that take a connected client. */
export function mcpClient(chat: Chat): McpClient;
