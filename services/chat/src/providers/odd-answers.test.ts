import { describe, expect, it } from '@jest/globals';
import { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { continueTrace } from '@gatehouse/kit/trace-context';
import fc from 'fast-check';
import type { AssistantMessage as Message } from '@gatehouse/dialects/dialect';
import { dialects } from '@gatehouse/dialects/dialects';
import type { ProviderCall } from './adapter.ts';
import { FramePipe } from './frame-pipe.ts';
import { chunksOf, chunkWays, frameWays, said, wholeOf, type Said } from '@gatehouse/test/odd-answers';
import { ProviderFailure } from './provider-failure.ts';
import { StreamHandler } from './stream-handler.ts';
import { readUnaryAnswer } from './unary-handler.ts';
import { UnaryHandler } from './unary-handler.ts';

const acme = { name: 'acme', format: dialects.chat };
const MiB = 1024 * 1024;
const controller = {
  ...{ aborted: false, paused: false, reason: null },
  ...{ abort: () => undefined, pause: () => undefined, resume: () => undefined },
};

function callOf(): ProviderCall {
  const budget = new AnswerBudget({ perTenant: 64 * MiB, perProcess: 64 * MiB });
  return {
    ...{ room: budget.open('a'), api: 'chat' as const, operation: 'chat' as const, headers: {}, body: null },
    ...{ model: 'm', stream: true },
    trace: continueTrace(undefined),
    ...{ signal: new AbortController().signal, onHeaders: () => undefined },
  };
}

/** Everything that was read of an answer. */
interface Read {
  text: unknown;
  calls: unknown;
  usage: unknown;
}

function shown({ text: message, calls }: Message, usage: unknown): Read {
  const { content } = JSON.parse(message) as { content?: unknown };
  const text = Array.isArray(content)
    ? content.map((part: { text: string }) => part.text).join('')
    : (content ?? '');
  return {
    text,
    calls: calls.map(({ name, argumentsJson }) => [name, JSON.parse(argumentsJson ?? 'null') as unknown]),
    usage,
  };
}

function expected({ text, calls, usage }: Said): Read {
  return {
    text,
    calls: calls.map(({ name, args }) => [name, JSON.parse(JSON.stringify(args)) as unknown]),
    usage: expect.objectContaining({ inputTokens: usage.input, outputTokens: usage.output }),
  };
}

/** The bytes in pieces of a size, as a network may deliver them. */
function deliver(handler: StreamHandler | UnaryHandler, answer: string, size: number): void {
  const bytes = Buffer.from(answer);
  handler.onRequestStart(controller);
  handler.onResponseStart(controller, 200, { 'content-type': 'text/plain' });
  for (let at = 0; at < bytes.length; at += size)
    handler.onResponseData(controller, bytes.subarray(at, at + size));
  handler.onResponseEnd(controller, {});
}

/** As a turn of an agent with tools reads a stream. */
async function asStream(answer: string, size: number): Promise<Read> {
  const handler = new StreamHandler(acme, callOf());
  const opened = handler.opened.then(async (source) => {
    const pipe = new FramePipe('acme', source, acme.format.streamReader(1, true));
    await pipe.open();
    const stream = acme.format.toolStream({ write: () => true, onDrain: () => undefined }, () => true);
    await pipe.passTo(stream);
    return shown(stream.message, pipe.reader.usage);
  });
  deliver(handler, answer, size);
  return opened;
}

/** As a turn reads a whole answer. */
async function asWhole(answer: string, size: number): Promise<Read> {
  const handler = new UnaryHandler(acme, callOf());
  deliver(handler, answer, size);
  const bytes = await handler.answer;
  const { usage, broken } = await readUnaryAnswer(acme, bytes, { tenantId: 'a' });
  if (broken !== null) throw new ProviderFailure('cut', 'acme');
  const answers = acme.format.toolAnswers(() => true);
  const message = answers.add(JSON.parse(bytes.toString()) as Record<string, unknown>);
  if (message === null) throw new Error('no message');
  return shown(message, usage);
}

const ways = Object.entries(chunkWays);

/** An answer, and how it comes. */
const sent = fc.record({
  answer: said,
  /** Characters in its pieces, and bytes in those of the network. */
  pieces: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
  size: fc.integer({ min: 1, max: 400 }),
  some: fc.subarray(ways, { maxLength: 4 }),
  frames: fc.constantFrom(...Object.values(frameWays)),
  /** The place at which it is cut. */
  at: fc.nat(),
});

function streamOf(answer: Said, pieces: readonly number[], some: typeof ways): string[] {
  const chunks = some.reduce<Record<string, unknown>[]>((all, [, way]) => way(all), chunksOf(answer, pieces));
  return [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'];
}

describe.each([
  ['a stream', asStream],
  ['a whole answer', asWhole],
])('read as %s', (_name, read) => {
  it.each(ways)('a stream with %s says the same', async (name, way) => {
    await fc.assert(
      fc.asyncProperty(sent, async ({ answer, pieces, size }) => {
        const frames = streamOf(answer, pieces, [[name, way]]);
        const text = frames.map((frame) => `data: ${frame}\n\n`).join('');
        expect(await read(text, size)).toEqual(expected(answer));
      }),
      { numRuns: 20 },
    );
  });

  it('a stream with several oddities at once says the same', async () => {
    await fc.assert(
      fc.asyncProperty(sent, async ({ answer, pieces, size, some, frames }) => {
        expect(await read(frames(streamOf(answer, pieces, some)), size)).toEqual(expected(answer));
      }),
      { numRuns: 200 },
    );
  });

  it('one object says the same', async () => {
    await fc.assert(
      fc.asyncProperty(sent, async ({ answer, size }) => {
        expect(await read(JSON.stringify(wholeOf(answer)), size)).toEqual(expected(answer));
      }),
      { numRuns: 50 },
    );
  });

  it('a stream that ends before its last choice has ended is a failure', async () => {
    await fc.assert(
      fc.asyncProperty(sent, async ({ answer, pieces, size, some, at }) => {
        const frames = streamOf(answer, pieces, some);
        const ends = frames.findIndex((frame) => /"finish_reason":"(?:stop|tool_calls)"/.test(frame));
        const begun = frames.slice(0, at % Math.max(1, ends)).map((frame) => `data: ${frame}\n\n`);
        await expect(read(begun.join(''), size)).rejects.toBeInstanceOf(ProviderFailure);
      }),
      { numRuns: 100 },
    );
  });
});
