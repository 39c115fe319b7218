import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { facts } from '@gatehouse/test/translation-samples';
import { translationBetween } from './translation.ts';
import { Pieces } from '../wire/pieces.ts';

/** Milliseconds of CPU that the longest piece of a translation takes, and all of it. */
async function work(
  from: DialectName,
  to: DialectName,
  fields: Fields,
): Promise<{ longest: number; all: number }> {
  const body = Buffer.from(JSON.stringify(fields));
  const began = cpuMs();
  let before = began;
  let longest = 0;
  const watch = setInterval(() => {
    const now = cpuMs();
    longest = Math.max(longest, now - before);
    before = now;
  }, 1);
  await translationBetween(from, to, facts).request(Pieces.from(body), { tenantId: 'tenant' });
  clearInterval(watch);
  const now = cpuMs();
  return { longest: Math.max(longest, now - before), all: now - began };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

async function translated(from: DialectName, to: DialectName, fields: Fields): Promise<Fields> {
  const { body } = await translationBetween(from, to, facts).request(
    Pieces.from(Buffer.from(JSON.stringify(fields))),
    {
      tenantId: null,
    },
  );
  return JSON.parse(body.toString()) as Fields;
}

const many = <Element>(count: number, make: (index: number) => Element): Element[] =>
  Array.from({ length: count }, (_, index) => make(index));
const user = [{ role: 'user', content: 'Go' }];
const schema = { type: 'object' };
const called = (index: number): Fields => ({ name: `f${index}`, parameters: schema });

describe('a request with many', () => {
  /** Requests with a list of any length. */
  const lists: readonly [string, DialectName, DialectName, (count: number) => Fields][] = [
    [
      'tools',
      'messages',
      'chat',
      (count) => ({ messages: user, tools: many(count, (at) => ({ name: `f${at}`, input_schema: schema })) }),
    ],
    [
      'tools',
      'chat',
      'messages',
      (count) => ({
        messages: user,
        tools: many(count, (at) => ({ type: 'function', function: called(at) })),
      }),
    ],
    ['functions', 'chat', 'gemini', (count) => ({ messages: user, functions: many(count, called) })],
    [
      'tools',
      'responses',
      'chat',
      (count) => ({ input: 'Go', tools: many(count, (at) => ({ type: 'function', ...called(at) })) }),
    ],
    [
      'tools of a namespace',
      'responses',
      'messages',
      (count) => ({
        input: 'Go',
        tools: [
          { type: 'namespace', name: 'n', tools: many(count, (at) => ({ type: 'function', ...called(at) })) },
        ],
      }),
    ],
    [
      'declarations',
      'gemini',
      'responses',
      (count) => ({
        contents: [{ parts: [{ text: 'Go' }] }],
        tools: [{ functionDeclarations: many(count, called) }],
      }),
    ],
    [
      'calls',
      'messages',
      'responses',
      (count) => ({
        messages: [
          {
            role: 'assistant',
            content: many(count, (at) => ({ type: 'tool_use', id: `c${at}`, name: 'f', input: {} })),
          },
        ],
      }),
    ],
    [
      'messages',
      'messages',
      'chat',
      (count) => ({
        messages: many(count + 1, (at) => ({ role: at % 2 ? 'assistant' : 'user', content: 'a' })),
      }),
    ],
  ];

  it.each(lists)('%s from %s to %s takes time by their number', async (_, from, to, request) => {
    await work(from, to, request(300));
    const few = await work(from, to, request(300));
    const [times, allowance] = [30, 10];
    const more = await work(from, to, request(300 * times));
    expect(more.all).toBeLessThan(Math.max(20, few.all) * times * allowance);
  });
});

describe('a request is translated in pieces of 50 ms, with', () => {
  const args = (text: string): Fields => ({
    messages: [
      ...user,
      { role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f', arguments: text } }] },
    ],
  });
  const file = `data:text/plain;base64,${'QUFB'.repeat(1.5e6)}`;
  const results = many(9_500, (at) => at);

  it.each<[string, DialectName, DialectName, () => Fields]>([
    ['a long text', 'chat', 'messages', () => ({ messages: [{ role: 'user', content: 'a'.repeat(15e6) }] })],
    ['many lines', 'chat', 'messages', () => ({ messages: [{ role: 'user', content: 'a\n'.repeat(4e6) }] })],
    [
      'a text file',
      'chat',
      'messages',
      () => ({
        messages: [
          { role: 'user', content: [{ type: 'file', file: { filename: 'a.txt', file_data: file } }] },
        ],
      }),
    ],
    ['long arguments', 'chat', 'messages', () => args(JSON.stringify({ q: 'x'.repeat(10e6) }))],
    [
      'calls whose results come in reverse order',
      'gemini',
      'chat',
      () => ({
        contents: [
          { role: 'model', parts: results.map((at) => ({ functionCall: { name: `f${at}` } })) },
          { role: 'user', parts: results.map((at) => ({ functionResponse: { name: `f${9_499 - at}` } })) },
        ],
      }),
    ],
    [
      'calls with ids that do not fit',
      'chat',
      'messages',
      () => ({
        messages: [
          {
            role: 'assistant',
            tool_calls: many(9_000, (at) => ({ id: `c!${at}`, function: { name: 'f', arguments: '{}' } })),
          },
        ],
      }),
    ],
    [
      'schemas of Google',
      'gemini',
      'chat',
      () => ({
        contents: [{ parts: [{ text: 'Go' }] }],
        tools: [
          {
            functionDeclarations: many(5_000, (at) => ({
              name: `f.${at}`,
              parameters: { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
            })),
          },
        ],
      }),
    ],
  ])('%s', async (_, from, to, request) => {
    expect((await work(from, to, request())).longest).toBeLessThan(500);
  });

  it.each([
    ['numbers', `{"a":[${'1,'.repeat(7e6)}1]}`],
    ['brackets', `{"a":${'['.repeat(2e6)}${']'.repeat(2e6)}}`],
    ['characters', JSON.stringify({ q: 'x'.repeat(13e6) })],
  ])('arguments of too many %s refused', async (_, text) => {
    await expect(translated('chat', 'messages', args(text))).rejects.toMatchObject({ code: 'invalid_value' });
  });

  it('too long lists refused', async () => {
    const contents = many(60_000, () => ({}));
    await expect(translated('gemini', 'chat', { contents })).rejects.toMatchObject({ code: 'invalid_value' });
  });
});

describe('an object with more members than any has', () => {
  const hints = Object.fromEntries(many(10_000, (at) => [`u${at}`, 0]));
  const input = { path: '/important' };

  it.each([
    ['a request', (call: Fields) => ({ ...hints, messages: [{ role: 'assistant', content: [call] }] })],
    ['a block', (call: Fields) => ({ messages: [{ role: 'assistant', content: [{ ...hints, ...call }] }] })],
  ])('%s is refused, since its arguments would be lost', async (_, request) => {
    const call = { type: 'tool_use', id: 'a', name: 'rm', input };
    await expect(translated('messages', 'chat', request(call))).rejects.toMatchObject({
      code: 'invalid_value',
    });
  });

  it('passes where it is not looked into', async () => {
    const call = { type: 'tool_use', id: 'a', name: 'rm', input: hints };
    const body = await translated('messages', 'chat', { messages: [{ role: 'assistant', content: [call] }] });
    expect(JSON.stringify(body)).toContain('u9999');
  });
});
