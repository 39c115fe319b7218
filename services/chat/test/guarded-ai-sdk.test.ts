import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { APICallError, generateText, isStepCount, streamText, tool } from 'ai';
import type { LanguageModel, ModelMessage } from 'ai';
import { z } from 'zod';
import { streamedApis } from './answer-streams.ts';
import type { ChatHarness } from './chat-harness.ts';
import { chatAnswer } from './guarded-apis.ts';
import { guardedUser } from './guarding.ts';
import { answerOf, callItem, type Fields } from './response-answers.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';
import { message } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Sessions of Vercel's AI SDK with guardrails, by its provider of each API. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider);
});
beforeEach(() => {
  provider.answer();
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

type As = { tenantId: string; userId: string };

/** The gateway as the SDK's `fetch` for an API. */
const fetchAs =
  (dialect: string, principal: As): typeof fetch =>
  async (url, init) => {
    if (!(typeof url === 'string') || typeof init?.body !== 'string') throw new Error('it sends texts');
    const { pathname, search } = new URL(url);
    const headers = { 'x-gatehouse-dialect': dialect };
    return harness.post(`${pathname}${search}`, init.body, { principal, headers });
  };

interface Vendor {
  model: (fetch: typeof globalThis.fetch) => LanguageModel;
  /** An answer with a call of `lookup`. */
  call: Fields;
}

const given = { apiKey: 'unused', baseURL: 'http://gateway/v1' };
const called = { name: 'lookup', args: { of: 'Ann' } };
const vendors: Record<string, Vendor> = {
  chat: {
    model: (fetch) => createOpenAI({ ...given, fetch }).chat('small'),
    call: {
      ...chatAnswer,
      choices: [
        {
          ...{ index: 0, finish_reason: 'tool_calls' },
          message: {
            ...{ role: 'assistant', content: null },
            tool_calls: [
              { id: 'a', type: 'function', function: { name: 'lookup', arguments: '{"of":"Ann"}' } },
            ],
          },
        },
      ],
    },
  },
  responses: {
    model: (fetch) => createOpenAI({ ...given, fetch }).responses('gpt'),
    call: answerOf([callItem('a', 'lookup', '{"of":"Ann"}')]),
  },
  messages: {
    model: (fetch) => createAnthropic({ ...given, fetch }).messages('claude'),
    call: message([{ type: 'tool_use', id: 'a', name: 'lookup', input: called.args }], {
      stop_reason: 'tool_use',
    }),
  },
  gemini: {
    model: (fetch) =>
      createGoogleGenerativeAI({ ...given, baseURL: 'http://gateway/v1beta', fetch }).chat('gemini'),
    call: {
      candidates: [
        { index: 0, content: { role: 'model', parts: [{ functionCall: called }] }, finishReason: 'STOP' },
      ],
    },
  },
};

/** A session with a tool that returns `result`. `say` resolves to the text of an answer, whole or streamed. */
function sessionWith(
  { model }: Vendor,
  dialect: string,
  { principal, result }: { principal: As; result: string },
) {
  const messages: ModelMessage[] = [];
  const tools = {
    lookup: tool({ inputSchema: z.object({ of: z.string() }), execute: () => result }),
  };
  const options = {
    ...{ model: model(fetchAs(dialect, principal)), messages, tools },
    ...{ stopWhen: isStepCount(2), maxRetries: 0, maxOutputTokens: 1_000 },
  };
  const onStepEnd = ({ response }: { response: { messages: ModelMessage[] } }): void => {
    messages.push(...response.messages);
  };
  return {
    messages,
    say: async (content: string): Promise<string> => {
      messages.push({ role: 'user', content });
      return (await generateText({ ...options, onStepEnd })).text;
    },
    stream: async (content: string): Promise<{ text: string; finishReason: string }> => {
      messages.push({ role: 'user', content });
      const streaming = streamText({ ...options, onStepEnd });
      return { text: await streaming.text, finishReason: await streaming.finishReason };
    },
  };
}

const address = 'ann.lee@gmail.com';
const sent = (): string => provider.received.map(({ body }) => body.toString()).join('\n');

describe.each(Object.entries(vendors))('a session with the API %s', (dialect, vendor) => {
  const { whole: answer, frames } = streamedApis[dialect] ?? {};
  if (answer === undefined || frames === undefined) throw new Error(`there is no API ${dialect}`);

  it('goes on after a refused prompt', async () => {
    const principal = guardedUser(harness, { message: 'No addresses.' });
    const session = sessionWith(vendor, dialect, { principal, result: '' });
    const refused = await session.say(`Write to ${address}.`).catch((error: unknown) => error);
    expect(APICallError.isInstance(refused) && [refused.statusCode, refused.message]).toEqual([
      ...[400, expect.stringContaining('No addresses.')],
    ]);
    provider.answer(whole(answer('Yes.')));
    expect(await session.say('Go on.')).toBe('Yes.');
    expect(sent()).toContain('[BLOCKED]');
    expect(sent()).not.toContain(address);
  });

  it('goes on after a refused result of a tool', async () => {
    const principal = guardedUser(harness, { message: 'No addresses.' });
    const session = sessionWith(vendor, dialect, { principal, result: `It is ${address}.` });
    provider.answer(whole(vendor.call));
    await expect(session.say('Look up Ann.')).rejects.toThrow('No addresses.');
    expect(session.messages.at(-1)?.role).toBe('tool');
    provider.answer(whole(answer('Yes.')));
    expect(await session.say('Go on.')).toBe('Yes.');
    expect(sent()).toContain('[BLOCKED]');
    expect(sent()).not.toContain(address);
  });

  it('has masks in results and answers, whole and streamed', async () => {
    const on = ['tool_result', 'answer'] as const;
    const principal = guardedUser(harness, { action: 'mask', on: [...on] });
    const session = sessionWith(vendor, dialect, { principal, result: `It is ${address}.` });
    provider.answer(whole(vendor.call), whole(answer(`Ask ${address}.`)));
    expect(await session.say('Look up Ann.')).toBe('Ask [EMAIL].');
    expect(sent()).toContain('It is [EMAIL].');
    provider.answer(streamed(frames(['Ask ann.', 'lee@gma', 'il.com.'])));
    expect(await session.stream('Again.')).toMatchObject({ text: 'Ask [EMAIL].' });
    expect(sent()).not.toContain(address);
  });

  it('goes on after a blocked answer', async () => {
    const principal = guardedUser(harness, { on: ['answer'], message: 'No addresses.' });
    const session = sessionWith(vendor, dialect, { principal, result: '' });
    provider.answer(streamed(frames(['Ask ann.', 'lee@gma', 'il.com.'])));
    const ended = await session.stream('Who knows?');
    expect(ended.text).not.toContain('gmail');
    provider.answer(whole(answer('Yes.')));
    expect(await session.say('Go on.')).toBe('Yes.');
    expect(sent()).not.toContain(address);
  });
});
