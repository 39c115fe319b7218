import { createServer, type ServerResponse } from 'node:http';
import type { DialectName } from '@gatehouse/contract/dialects';

/**
 * A provider with each API: the same answer in each, whole, or as a stream of so many frames as the number in its text
 * asks for. Usage: `node api-provider.ts <port>`.
 */

/** In a request that wants a stream: the number of its frames of text. */
const wanted = /frames=(\d+)/;
/** Frames of one write: a provider's arrive a few at a time. */
const framesAtOnce = 8;
const word = 'word ';
const whole = word.repeat(120);
const input = 230;
const output = 120;

interface Api {
  whole: object;
  /** The data of the frames before, of and behind the text. */
  first: object[];
  piece: (text: string) => object;
  last: object[];
  end: string;
}

const chatHead = { id: 'chatcmpl-bench', created: 1_800_000_000, model: 'bench' };
const chatUsage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
const chunk = (delta: object, finish_reason: string | null): object => ({
  ...{ ...chatHead, object: 'chat.completion.chunk' },
  choices: [{ index: 0, delta, finish_reason }],
});
const chat: Api = {
  whole: {
    ...{ ...chatHead, object: 'chat.completion', usage: chatUsage },
    choices: [
      { index: 0, message: { role: 'assistant', content: whole, refusal: null }, finish_reason: 'stop' },
    ],
  },
  first: [chunk({ role: 'assistant', content: '' }, null)],
  piece: (content) => chunk({ content }, null),
  last: [chunk({}, 'stop'), { ...chatHead, object: 'chat.completion.chunk', choices: [], usage: chatUsage }],
  end: 'data: [DONE]\n\n',
};

const messageHead = {
  id: 'msg_bench',
  type: 'message',
  role: 'assistant',
  model: 'bench',
  stop_sequence: null,
};
const messages: Api = {
  whole: {
    ...{ ...messageHead, stop_reason: 'end_turn', content: [{ type: 'text', text: whole }] },
    usage: { input_tokens: input, output_tokens: output },
  },
  first: [
    {
      type: 'message_start',
      message: {
        ...{ ...messageHead, stop_reason: null, content: [] },
        usage: { input_tokens: input, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ],
  piece: (text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  last: [
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: output },
    },
    { type: 'message_stop' },
  ],
  end: '',
};

const item = (text: string): object => ({
  ...{ id: 'msg_bench', type: 'message', status: 'completed', role: 'assistant' },
  content: [{ type: 'output_text', text, annotations: [] }],
});
const response = (status: string, text: string | null): object => ({
  ...{ id: 'resp_bench', object: 'response', created_at: 1_800_000_000, status, model: 'bench' },
  ...{ error: null, incomplete_details: null, output: text === null ? [] : [item(text)] },
  usage: text === null ? null : { input_tokens: input, output_tokens: output, total_tokens: input + output },
});
const place = { item_id: 'msg_bench', output_index: 0, content_index: 0 };
const responses: Api = {
  whole: response('completed', whole),
  first: [
    { type: 'response.created', sequence_number: 0, response: response('in_progress', null) },
    {
      ...{ type: 'response.output_item.added', sequence_number: 1, output_index: 0 },
      item: { id: 'msg_bench', type: 'message', status: 'in_progress', role: 'assistant', content: [] },
    },
    {
      ...{ type: 'response.content_part.added', sequence_number: 2, ...place },
      part: { type: 'output_text', text: '', annotations: [] },
    },
  ],
  piece: (delta) => ({ type: 'response.output_text.delta', sequence_number: 3, ...place, delta }),
  last: [
    { type: 'response.output_text.done', sequence_number: 4, ...place, text: whole },
    {
      ...{ type: 'response.content_part.done', sequence_number: 5, ...place },
      part: { type: 'output_text', text: whole, annotations: [] },
    },
    { type: 'response.output_item.done', sequence_number: 6, output_index: 0, item: item(whole) },
    { type: 'response.completed', sequence_number: 7, response: response('completed', whole) },
  ],
  end: '',
};

const geminiUsage = {
  usageMetadata: { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: input + output },
};
const candidate = (text: string, finishReason?: string): object => ({
  candidates: [
    { content: { role: 'model', parts: [{ text }] }, index: 0, ...(finishReason && { finishReason }) },
  ],
  ...{ modelVersion: 'bench', responseId: 'bench' },
});
const gemini: Api = {
  whole: { ...candidate(whole, 'STOP'), ...geminiUsage },
  first: [],
  piece: (text) => candidate(text),
  last: [{ ...candidate('', 'STOP'), ...geminiUsage }],
  end: '',
};

const apis: Record<DialectName, Api> = { chat, responses, messages, gemini };

function apiOf(path: string): DialectName {
  if (path.includes('/models/')) return 'gemini';
  if (path.endsWith('/responses')) return 'responses';
  return path.endsWith('/messages') ? 'messages' : 'chat';
}

function frame(data: object): string {
  const { type } = data as { type?: string };
  return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** Made once: they are all the same. */
const wholes = Object.fromEntries(
  Object.entries(apis).map(([name, api]) => [name, JSON.stringify(api.whole)]),
);

async function stream(out: ServerResponse, api: Api, frames: number): Promise<void> {
  const piece = frame(api.piece(word));
  out.writeHead(200, { 'content-type': 'text/event-stream' });
  out.write(api.first.map(frame).join(''));
  for (let sent = 0; sent < frames && !out.destroyed; sent += framesAtOnce) {
    await new Promise(setImmediate);
    out.write(piece.repeat(Math.min(framesAtOnce, frames - sent)));
  }
  out.end(api.last.map(frame).join('') + api.end);
}

const server = createServer({ noDelay: true, keepAliveTimeout: 75_000 }, (request, out) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const name = apiOf((request.url ?? '').split('?', 1)[0] ?? '');
    const frames = wanted.exec(Buffer.concat(parts).toString())?.[1];
    if (frames !== undefined) {
      void stream(out, apis[name], Number(frames));
      return;
    }
    const answer = wholes[name] ?? '';
    out.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length });
    out.end(answer);
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.send?.('listening'));
process.on('disconnect', () => process.exit(0));
