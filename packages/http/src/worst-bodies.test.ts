import { describe, expect, it } from '@jest/globals';
import { routes } from '@gatehouse/contract/routes';
import { AppError } from '@gatehouse/kit/errors';
import { longestBlock } from '@gatehouse/test/longest-block';
import type { z } from 'zod';
import { parseBody, parseJson } from './body.ts';
import { validate } from '@gatehouse/kit/validate';

type Wrap = (value: unknown) => unknown;

/** Every place of a shape where a value can be, as a function that makes the body with a value there. */
function* places(shape: z.core.$ZodType, depth = 0): Generator<[path: string, wrap: Wrap]> {
  if (depth > 4) return;
  yield ['', (value) => value];
  const { def } = shape._zod as z.core.$ZodTypeInternals & { def: Parts };
  for (const [name, member] of Object.entries(def.shape ?? {}))
    for (const [path, wrap] of places(member, depth + 1))
      yield [`.${name}${path}`, (value) => ({ [name]: wrap(value) })];
  if (def.element !== undefined)
    for (const [path, wrap] of places(def.element, depth + 1)) yield [`[]${path}`, (value) => [wrap(value)]];
  for (const inner of [...(def.options ?? []), def.innerType, def.out])
    if (inner !== undefined) yield* places(inner, depth + 1);
}

/** The parts of shapes that have parts. */
interface Parts {
  shape?: Record<string, z.core.$ZodType>;
  element?: z.core.$ZodType;
  options?: z.core.$ZodType[];
  innerType?: z.core.$ZodType;
  out?: z.core.$ZodType;
}

const bytes = 2 ** 20 - 1_000;
const listOf = (element: string): string =>
  `[${Array(Math.floor(bytes / (element.length + 1)))
    .fill(element)
    .join(',')}]`;
const members = (count: number, prefix = ''): string =>
  `{${Array.from({ length: count }, (_, index) => `"${prefix}${index}":0`).join(',')}}`;

const worst: Record<string, string> = {
  'empty objects': listOf('{}'),
  'empty texts': listOf('""'),
  numbers: listOf('0'),
  'objects of many members': `[${Array.from({ length: 70 }, (_, n) => members(1_000, `k${n}x`)).join(',')}]`,
  'members of different names': members(90_000),
  'a long text': JSON.stringify('a@'.repeat(bytes / 2)),
  'a long path': JSON.stringify(`https://a/${'/.'.repeat(bytes / 2 - 10)}`),
  'a long run of spaces': JSON.stringify(' '.repeat(bytes)),
  'deep lists': '['.repeat(bytes / 2 - 1_000) + ']'.repeat(bytes / 2 - 1_000),
};

/** The processor time of this thread that `work` takes; a 4xx is fine. */
function timeOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  try {
    work();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.message.length).toBeLessThan(600);
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** In ms: ten times the 50 that are promised on an idle machine for each part of reading a body. */
const mostMs = 500;

describe.each(Object.entries(worst))('the worst body with %s', (_what, json) => {
  let parsed: unknown;

  it('is parsed, or refused, in a short time', () => {
    expect(timeOf(() => (parsed = parseJson(Buffer.from(json))))).toBeLessThan(mostMs);
  });

  it('is checked against each shape in a short time', () => {
    const slow = new Set<string>();
    for (const { id, body } of routes) {
      if (body === undefined || parsed === undefined) continue;
      for (const [path, wrap] of places(body))
        if (timeOf(() => validate(body, wrap(parsed), 'body')) >= mostMs) slow.add(`${id} ${path}`);
    }
    expect([...slow]).toEqual([]);
  });
});

describe('the worst body of 20 MiB', () => {
  const size = 20 * 2 ** 20 - 100;
  const number = '2.2250738585072011362057409796709131e-308';
  it.each([
    ['white space', `${' '.repeat(size)}{}`],
    ['escapes', `{"a":"${'\\"'.repeat(size / 2 - 10)}"}`],
    ['as many escapes as are parsed', `{"a":"${'\\n'.repeat(4_999_990)}${'x'.repeat(size / 2 - 100)}"}`],
    ['one text', `{"a":"${'x'.repeat(size - 10)}"}`],
    ['a text of another script', `{"a":"${'漢'.repeat(size / 3 - 10)}"}`],
    ['long numbers', `[${Array(490_000).fill(number).join(',')}]`],
    ['as many long numbers as are parsed', `[${Array(95_000).fill(number).join(',')}]`],
    ['numbers', `[${Array(490_000).fill('1.25').join(',')}]`],
    ['texts', `[${Array.from({ length: 99_000 }, (_, n) => `"k${n}"`).join(',')}]`],
  ])('with %s never holds the event loop for long', async (_what, json) => {
    const body = Buffer.from(json);
    const refused = (error: unknown): void => expect(error).toBeInstanceOf(AppError);
    expect(await longestBlock(() => parseBody(body, 't').catch(refused))).toBeLessThan(mostMs);
  });
});
