import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errorEvent, writeError } from '@gatehouse/http/dialect-error';
import { AppError } from '@gatehouse/kit/errors';
import OpenAI from 'openai';
import { streamFrames } from './response-mode.ts';
import { ResponseFollower } from './response-follower.ts';
import { openAiResponsesDialect } from './dialect.ts';

/** Bytes that the gateway writes, as OpenAI's SDK reads them. */

let server: Server;
let client: OpenAI;
let answer: { status: number; type: string; text: string };
beforeAll(async () => {
  server = createServer((_request, response) =>
    response.writeHead(answer.status, { 'content-type': answer.type }).end(answer.text),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  client = new OpenAI({ apiKey: 'k', baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 });
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const events = 'text/event-stream';
const asked = { model: 'm', input: 'hi' };
const failure = new AppError('provider_error', 'The provider failed.');
const frames = streamFrames(
  Buffer.from(
    JSON.stringify({
      ...{ id: 'resp_1', object: 'response', created_at: 7, status: 'completed', model: 'm' },
      output: [
        {
          ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
          content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
        },
        {
          id: 'ctc_1',
          type: 'custom_tool_call',
          call_id: 'c1',
          name: 'exec',
          input: 'ls',
          status: 'completed',
        },
      ],
      usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    }),
  ),
);
const joined = (parts: readonly (Buffer | string)[]): string => parts.map(String).join('');

beforeEach(() => {
  answer = { status: 200, type: events, text: joined(frames) };
});

describe('OpenAI’s SDK', () => {
  it('reads a stream with signs of life in it', async () => {
    const { keepAlive } = openAiResponsesDialect;
    answer.text = joined(frames.flatMap((frame) => [keepAlive, frame]));
    const final = await client.responses.stream(asked).finalResponse();
    expect(final).toMatchObject({ id: 'resp_1', output_text: 'Hello', usage: { total_tokens: 3 } });
    expect(final.output.map(({ type }) => type)).toEqual(['message', 'custom_tool_call']);
  });

  it('throws at a stream that breaks', async () => {
    const follower = new ResponseFollower();
    const begun = frames.slice(0, 5);
    follower.see(begun);
    answer.text = joined([...begun, errorEvent('responses', failure, 'r-1', follower.place)]);
    const types: string[] = [];
    const read = async (): Promise<void> => {
      for await (const event of await client.responses.create({ ...asked, stream: true }))
        types.push(event.type);
    };
    await expect(read()).rejects.toThrow('The provider failed.');
    expect(types).toEqual([
      ...['response.created', 'response.in_progress', 'response.output_item.added'],
      ...['response.content_part.added', 'response.output_text.delta'],
    ]);
    await expect(client.responses.stream(asked).finalResponse()).rejects.toThrow('The provider failed.');
  });

  it('has the code of an error that came before the answer', async () => {
    const written = writeError('responses', failure, 'r-1');
    answer = { status: written.status, type: 'application/json', text: JSON.stringify(written.body) };
    await expect(client.responses.create(asked)).rejects.toMatchObject({
      status: 502,
      code: 'provider_error',
    });
  });
});
