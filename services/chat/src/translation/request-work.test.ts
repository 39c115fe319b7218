import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { facts } from './samples.ts';
import { translationBetween } from './translation.ts';

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
  await translationBetween(from, to, facts).request(body, 'tenant');
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
    Buffer.from(JSON.stringify(fields)),
    null,
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
      (count) => ({ messages: many(count, (at) => ({ role: at % 2 ? 'assistant' : 'user', content: 'a' })) }),
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
