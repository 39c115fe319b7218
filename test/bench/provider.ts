import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { prose } from './prose.ts';

/**
 * The provider of the bench: a fixed answer, for the model `prose` of prose, or a stream paced as the request says, and
 * nothing else, for it shares its core with the database. The simulator of the tests, which records and misbehaves, costs half as much again.
 * Usage: `node provider.ts <port>`.
 */
const head = { id: 'chatcmpl-bench', created: 1_800_000_000, model: 'bench' };
const usage = { prompt_tokens: 230, completion_tokens: 120, total_tokens: 350 };
const answerOf = (content: string): string =>
  JSON.stringify({
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage,
  });
const [answer, proseAnswer] = [answerOf('word '.repeat(120)), answerOf(prose)];

interface StreamRequest {
  x_simulator: { chunks: number; chunk_delay_ms: number };
}

async function stream(response: ServerResponse, { x_simulator: pace }: StreamRequest): Promise<void> {
  const send = (part: object): unknown =>
    response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...part })}\n\n`);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const startedAt = performance.now();
  for (let word = 1; word <= pace.chunks && !response.destroyed; word += 1) {
    // By the time of the start, since each timer is a little late.
    await sleep(Math.max(0, startedAt + word * pace.chunk_delay_ms - performance.now()));
    const content = word === 1 ? 'w1' : ` w${word}`;
    send({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  send({ choices: [], usage });
  response.end('data: [DONE]\n\n');
}

const server = createServer({ noDelay: true, keepAliveTimeout: 75_000 }, (request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const body = Buffer.concat(parts);
    if (body.includes('"stream":true')) {
      void stream(response, JSON.parse(body.toString()) as StreamRequest);
      return;
    }
    const text = body.includes('"model":"prose"') ? proseAnswer : answer;
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length });
    response.end(text);
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.send?.('listening'));
process.on('disconnect', () => process.exit(0));
