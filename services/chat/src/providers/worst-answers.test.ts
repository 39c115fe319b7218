import { describe, expect, it } from '@jest/globals';
import { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { longestBlock } from '@gatehouse/test/longest-block';
import { dialects } from '@gatehouse/dialects/dialects';
import { FramePipe } from './frame-pipe.ts';
import { ProviderFailure } from './provider-failure.ts';
import { StreamHandler } from './stream-handler.ts';
import { readUnaryAnswer } from './unary-handler.ts';

/** Ten times as long as the event loop may be held up. */
const blockMs = 500;
const acme = { name: 'acme', format: dialects.chat };
const MiB = 1024 * 1024;
const repeated = (text: string, bytes: number): string => text.repeat(Math.floor(bytes / text.length));
const usage = '"model":"m-1","usage":{"prompt_tokens":3,"completion_tokens":2}';

describe('a whole answer as large as it may be', () => {
  const most = 12 * MiB;
  const expectedOf = { responseModel: 'm-1', usage: { inputTokens: 3, outputTokens: 2 } };

  it.each<[string, string, object | string]>([
    ['numbers', `{"choices":[${repeated('1,', most)}1],${usage}}`, 'invalid'],
    ['objects', `{"choices":[${repeated('{"a":1},', most)}1],${usage}}`, 'invalid'],
    ['vectors', `{"data":[{"embedding":[${repeated('0.123456,', most)}1]}],${usage}}`, expectedOf],
    ['arrays in arrays', `{"choices":${'['.repeat(most / 2)}${']'.repeat(most / 2)},${usage}}`, 'invalid'],
    ['escapes', `{"choices":[{"message":{"content":"${repeated('\\"', most)}"}}],${usage}}`, expectedOf],
    ['members', `{${repeated('"a":1,', most)}"choices":[],"a":2}`, 'invalid'],
    ['one number', `{"choices":[${'1'.repeat(most)}],${usage}}`, 'invalid'],
    ['an error', `{"choices":[],"error":[${repeated('{},', most)}{}]}`, 'status'],
    ['what does not end', `{"choices":[${repeated('1,', most)}`, 'invalid'],
    [
      'small arrays in arrays',
      `{"choices":[{"message":{"function_call":{"name":"f","arguments":${'['.repeat(20_000)}${']'.repeat(20_000)}}}}],${usage}}`,
      'invalid',
    ],
    ['two values', `{"choices":[${repeated('1,', most)}1]}{}`, 'invalid'],
    ['a list', `[${repeated('1,', most)}1]`, 'invalid'],
  ])('of %s is read in pieces', async (_name, json, expected) => {
    const bytes = Buffer.from(json);
    let outcome: unknown;
    const blocked = await longestBlock(async () => {
      try {
        outcome = await readUnaryAnswer(acme, bytes, { tenantId: 'a' });
      } catch (error) {
        outcome = error;
      }
    }, blockMs);
    if (typeof expected === 'object') expect(outcome).toMatchObject(expected);
    else expect(outcome).toMatchObject({ kind: expected, constructor: ProviderFailure });
    expect(blocked).toBeLessThan(blockMs);
  });

  it('is read for its text beside what is too large', async () => {
    const logprobs = `{"content":[${repeated('{"token":"a","logprob":-0.1},', 20 * MiB)}{}]}`;
    const message = '{"role":"assistant","content":"Hello, \\"you\\"."}';
    const json = `{ "choices": [ {"message":${message} , "logprobs":${logprobs}}, {} ], "error": null, ${usage} }`;
    const answer = await readUnaryAnswer(acme, Buffer.from(json), { tenantId: 'a', keepsText: true });
    expect(answer).toMatchObject({ ...expectedOf, text: 'Hello, "you".' });
    expect(answer.answer).toEqual({ beginning: 'Hello, "you".\n', chars: 14 });
  });

  it('counts a message that is too large as it is written', async () => {
    const json = `{"choices":[{"message":{"content":"${'x'.repeat(20 * MiB)}"}}]}`;
    const { answer } = await readUnaryAnswer(acme, Buffer.from(json), { tenantId: 'a' });
    expect(Math.abs(answer.chars - 20 * MiB)).toBeLessThan(50);
    expect(answer.beginning).toContain('xxxx');
  });
});

describe('a stream', () => {
  const most = 8 * MiB;
  const first = Buffer.from('data: {"choices":[{"delta":{"content":"a"}}]}\n\n');
  const controller = {
    ...{ aborted: false, paused: false, reason: null },
    ...{ abort: () => undefined, pause: () => undefined, resume: () => undefined },
  };

  /** The failure of a stream, if it is one. */
  async function failureOf(bytes: Buffer): Promise<unknown> {
    const budget = new AnswerBudget({ perTenant: 64 * MiB, perProcess: 64 * MiB });
    const call = {
      ...{
        room: budget.open('a'),
        api: 'chat' as const,
        operation: 'chat' as const,
        model: 'm',
        stream: true,
        headers: {},
        body: null,
      },
      trace: continueTrace(undefined),
      ...{ signal: new AbortController().signal, onHeaders: () => undefined },
    };
    const handler = new StreamHandler(acme, call);
    let failure: unknown;
    handler.onRequestStart(controller);
    handler.onResponseStart(controller, 200, { 'content-type': 'text/event-stream' });
    handler.onResponseData(controller, first);
    const pipe = new FramePipe('acme', await handler.opened, acme.format.streamReader(1));
    await pipe.open();
    // As agents with tools read it.
    const sink = acme.format.toolStream({ write: () => true, onDrain: () => undefined }, () => false);
    pipe.passTo(sink).catch((error: unknown) => {
      failure = error;
    });
    for (let at = 0; at < bytes.length; at += 64 * 1024) {
      handler.onResponseData(controller, bytes.subarray(at, at + 64 * 1024));
      await new Promise(setImmediate);
    }
    return failure;
  }

  async function outcomeOf(text: string): Promise<{ failure: unknown; blocked: number }> {
    const bytes = Buffer.from(text);
    let failure: unknown;
    const blocked = await longestBlock(async () => {
      failure = await failureOf(bytes);
    }, blockMs);
    return { failure, blocked };
  }
  const frame = (json: string): string => `data: ${json}\n\n`;

  it.each<[string, string]>([
    ['numbers', frame(`{"a":[${repeated('1,', most)}1]}`)],
    ['objects', frame(`{"a":[${repeated('{"b":1},', most)}1]}`)],
    ['choices', frame(`{"choices":[${repeated('{"delta":{}},', most)}1]}`)],
    ['arrays in arrays', frame(`{"a":${'['.repeat(most / 2)}${']'.repeat(most / 2)}}`)],
    ['escapes', frame(`{"a":"${repeated('\\"', most)}"}`)],
    ['lines', frame(repeated('\ndata:', most))],
    ['calls', frame(`{"choices":[{"delta":{"tool_calls":[${repeated('{"index":1},', 600_000)}{}]}}]}`)],
    ['a line that does not end', `data: ${'x'.repeat(17 * MiB)}`],
  ])('fails at a frame of %s', async (_name, text) => {
    const { failure, blocked } = await outcomeOf(text);
    expect(failure).toMatchObject({ kind: 'invalid' });
    expect(blocked).toBeLessThan(blockMs);
  });

  it.each<[string, string]>([
    ['a picture', frame(`{"choices":[{"delta":{"content":"${'x'.repeat(most)}"}}]}`)],
    ['many small frames', repeated(frame('{}'), 3_000_000)],
    ['comments', repeated(':\n\n', 3_000_000)],
    [
      'usage beyond all numbers',
      frame('{"choices":[],"usage":{"prompt_tokens":1e300,"total_tokens":-1e999}}'),
    ],
  ])('passes on %s', async (_name, text) => {
    const { failure, blocked } = await outcomeOf(text);
    expect(failure).toBeUndefined();
    expect(blocked).toBeLessThan(blockMs);
  });
});
