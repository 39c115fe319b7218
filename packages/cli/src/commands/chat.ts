import type { Command } from 'commander';
import { createInterface } from 'node:readline/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { ApiError, type ApiClient } from '../api-client.ts';
import type { Context, SharedOptions } from '../context.ts';
import { readAll } from '../inputs.ts';
import { addShared } from '../resource-commands.ts';

interface ChatOptions extends SharedOptions {
  model: string;
  system?: string;
  user?: string;
  session?: string;
}

interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

interface Chunk {
  choices?: { delta?: { content?: string | null } }[];
  error?: { code?: string; message?: string };
}

/** `chat`: one question, or a conversation until the end of input. */
export function addChat(program: Command, context: Context): void {
  addShared(program.command('chat'))
    .description('ask an agent or a model; without a message, a conversation until the end of input')
    .argument('[message...]', '- reads it from standard input')
    .requiredOption('-m, --model <model>', 'a model, or an agent as agent:<key>')
    .option('--system <text>', 'a system prompt')
    .option('--user <id>', 'on behalf of that user')
    .option('--session <id>', 'a session: its runs belong together, and agents remember by it')
    .addHelpText('after', '\nExample:\n  gatehouse chat -m agent:clerk "Where is the key?"\n')
    .action(async (words: string[], options: ChatOptions) => {
      const client = await context.client(options);
      const messages: ChatMessage[] = [];
      if (options.system !== undefined) messages.push({ role: 'system', content: options.system });
      const { stdin, signal } = context.surroundings;
      const prompt = words.length === 1 && words[0] === '-' ? await readAll(stdin) : words.join(' ');
      const ask = async (content: string): Promise<void> => {
        messages.push({ role: 'user', content });
        messages.push({ role: 'assistant', content: await answer(client, { messages, options, context }) });
      };
      if (prompt !== '') {
        await ask(prompt);
        return;
      }
      const lines = createInterface({ input: stdin, signal });
      context.output(options).text('> ');
      for await (const line of lines) {
        if (line.trim() !== '') await ask(line);
        context.output(options).text('> ');
      }
      signal.throwIfAborted();
      context.output(options).line('');
    });
}

/** Prints an answer as it comes, and returns its text. */
async function answer(
  client: ApiClient,
  call: { messages: readonly ChatMessage[]; options: ChatOptions; context: Context },
): Promise<string> {
  const { model, user, session } = call.options;
  const output = call.context.output(call.options);
  const request = {
    method: 'POST',
    path: '/v1/chat/completions',
    user,
    ...(session !== undefined && { headers: { 'x-session-id': session } }),
  };
  if (output.isData) {
    const whole = await client.json<{ choices: { message: { content: string | null } }[] }>({
      ...request,
      json: { model, messages: call.messages },
    });
    output.answer(whole);
    return whole.choices[0]?.message.content ?? '';
  }
  const response = await client.send({ ...request, json: { model, messages: call.messages, stream: true } });
  const requestId = response.headers.get('x-request-id') ?? undefined;
  const events = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  let text = '';
  let isWhole = false;
  for await (const { data } of events ?? []) {
    if (data === '[DONE]') {
      isWhole = true;
      break;
    }
    const { choices, error } = JSON.parse(data) as Chunk;
    if (error !== undefined)
      throw new ApiError({
        ...{
          status: 502,
          code: error.code ?? 'upstream_error',
          message: error.message ?? 'The answer failed.',
        },
        requestId,
      });
    const piece = choices?.[0]?.delta?.content ?? '';
    text += piece;
    output.text(piece);
  }
  output.line('');
  if (!isWhole)
    throw new ApiError({ status: 502, code: 'stream_cut', message: 'The answer was cut off.', requestId });
  return text;
}
