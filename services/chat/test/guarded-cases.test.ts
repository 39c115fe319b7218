import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { dialects } from '@gatehouse/dialects/dialects';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { streamedApis } from './answer-streams.ts';
import { guardrailsFor, passed, type Name } from './checked-streams.ts';

/** Secrets and identifiers in streams and requests, split at every place. HOSTILE=full tries all cases, else each eleventh one. */

const step = process.env['HOSTILE'] === 'full' ? 1 : 11;

const longestMs = 600_000;

const random = (length: number): string =>
  createHash('sha512').update(String(length)).digest('hex').slice(0, length);

const values = [
  ...['ann.lee@gmail.com', '4111 1111 1111 1111', 'DE89 3704 0044 0532 0130 00', '+49 30 901820'],
  ...[`ghp_${random(36)}`, `sk-or-v1-${random(64)}`, `postgres://app:${random(20)}@db.corp.io/x`],
];
const clean = [
  ...['Order 4111111111111112, version 10.2.33.1, git@github.com:acme/widgets.git', 'Đơn hàng 1234567890.'],
  ...['2026-12-01T04:05:06.789Z INFO id=7f3a9c', "const key = 'sk-xxxxxxxxxxxxxxxx'; a@b"],
];
const variants: Record<string, (value: string) => string> = {
  plain: (value) => value,
  'with zero-width characters': (value) => value.replaceAll(/(?<=\w\w)(?=\w\w)/g, '\u200b'),
  'with full-width digits': (value) =>
    value.replaceAll(/\d/g, (digit) => String.fromCharCode(0xff_10 + Number(digit))),
};
const surroundings = [
  ['', ''],
  ['Now: ', ' now.'],
  ['e\u0301 "\\', '\n😀'],
] as const;
const encodings: Record<string, (text: string) => string> = {
  plain: (text) => JSON.stringify(text).slice(1, -1),
  escaped: (text) =>
    Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
      .map((unit) => String.raw`\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
};

/** Frames with two pieces of a text in some encoding. */
function framesOf(name: Name, pieces: readonly [string, string], encode: (text: string) => string): string[] {
  const marks = ['FIRST_PIECE_', 'SECOND_PIECE_'];
  const frames = streamedApis[name]?.frames(marks) ?? [];
  return frames.map((frame) =>
    marks.reduce((text, mark, index) => text.replaceAll(mark, () => encode(pieces[index] ?? '')), frame),
  );
}

interface Case {
  text: string;
  at: number;
  encode: (text: string) => string;
}

/** A text split before each of its characters in turn, in each encoding. */
function casesOf(text: string): Case[] {
  const places = Array.from(text, (_, index) => Array.from(text).slice(0, index).join('').length).slice(1);
  return places.flatMap((at) => Object.values(encodings).map((encode) => ({ text, at, encode })));
}

const chosen = <Each>(cases: readonly Each[]): Each[] => cases.filter((_, index) => index % step === 0);

describe.each(Object.keys(streamedApis))('a stream of %s', (key) => {
  const name = key as Name;
  const textOf = async ({ text, at, encode }: Case, action: 'block' | 'mask'): Promise<string> => {
    const frames = framesOf(name, [text.slice(0, at), text.slice(at)], encode);
    const answer = await passed(name, frames, guardrailsFor(action));
    return streamedApis[name]?.text(answer) ?? '';
  };

  it.each(Object.keys(variants))(
    'lets no character of a value %s out',
    async (variant) => {
      const cases = values.flatMap((value) =>
        surroundings.flatMap(([before, after]) =>
          casesOf(`${before}${variants[variant]?.(value) ?? ''}${after}`).map((each) => ({
            each,
            before,
            after,
          })),
        ),
      );
      const wrong: unknown[] = [];
      for (const { each, before, after } of chosen(cases)) {
        const masked = await textOf(each, 'mask');
        const isMasked = masked.replace(/\[[A-Z_]+\]/, '[…]') === `${before}[…]${after}`;
        const blocked = await textOf(each, 'block');
        if (!isMasked || !before.startsWith(blocked)) wrong.push({ ...each, masked, blocked });
      }
      expect(wrong).toEqual([]);
    },
    longestMs,
  );

  it(
    'leaves clean texts as they are',
    async () => {
      const wrong: unknown[] = [];
      for (const each of chosen(clean.flatMap(casesOf)))
        for (const action of ['mask', 'block'] as const)
          if ((await textOf(each, action)) !== each.text) wrong.push({ ...each, action });
      expect(wrong).toEqual([]);
    },
    longestMs,
  );
});

/** A mark for a string in JSON, and for one in JSON in a string. */
const [mark, innerMark] = ['THE_TEXT', 'THE_INNER_TEXT'];
const inner = `{"to":["${innerMark}"]}`;
const user = (content: unknown) => ({ role: 'user', content });

/** Requests with texts of the client and the model, and arguments and a result of a call. */
const requests: Record<Name, object> = {
  chat: {
    messages: [
      user(mark),
      {
        tool_calls: [{ id: 'c', function: { name: 'f', arguments: inner } }],
        role: 'assistant',
        content: null,
      },
      { role: 'tool', tool_call_id: 'c', content: inner },
      user([{ type: 'text', text: mark }]),
    ],
  },
  responses: {
    input: [
      user(mark),
      { type: 'function_call', call_id: 'c', name: 'f', arguments: inner },
      { type: 'function_call_output', call_id: 'c', output: inner },
      user([{ type: 'input_text', text: mark }]),
    ],
  },
  messages: {
    messages: [
      user(mark),
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: { to: [mark] } }] },
      user([{ type: 'tool_result', tool_use_id: 'c', content: inner }]),
      user(mark),
    ],
  },
  gemini: {
    contents: [
      { role: 'user', parts: [{ text: mark }] },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: { to: [mark] } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: inner } } }] },
      { role: 'user', parts: [{ text: mark }] },
    ],
  },
};

/** A request with a text in each of its places; the character at `at` is an escape, in JSON in a string within that. */
function requestWith(name: Name, { text, at, encode }: Case): Buffer {
  const { plain, escaped } = encodings;
  const source = (part: string, encoding = plain): string => encoding?.(part) ?? '';
  const outside =
    source(text.slice(0, at)) + source(text.slice(at, at + 1), escaped) + source(text.slice(at + 1));
  const json = JSON.stringify(requests[name])
    .replaceAll(mark, () => outside)
    .replaceAll(innerMark, () => JSON.stringify(encode === plain ? outside : encode(text)).slice(1, -1));
  return Buffer.from(json);
}

describe.each(Object.keys(requests))('a request for %s', (key) => {
  const name = key as Name;
  const { request: rules } = dialects[name].texts;
  const ofClient = ['user', 'tool_result'] as const;

  it(
    'has placeholders in place of values, however they are escaped',
    () => {
      const wrong: unknown[] = [];
      for (const each of chosen(values.flatMap(casesOf))) {
        const body = requestWith(name, each);
        const masked = atOnce(guardrailsFor('mask', ofClient).requestPassed(body, rules)).toString();
        const count = masked.match(/\[[A-Z_]+\]/g)?.length;
        const written = atOnce(guardrailsFor('mask', ofClient).requestPassed(Buffer.from(masked), rules));
        const blocking = guardrailsFor('block', ofClient);
        atOnce(blocking.requestPassed(body, rules));
        if (count !== 4 || written.toString() !== masked || blocking.refusal === null)
          wrong.push({ ...each, masked });
      }
      expect(wrong).toEqual([]);
    },
    longestMs,
  );

  it(
    'stays byte for byte without values',
    () => {
      for (const each of chosen(clean.flatMap(casesOf))) {
        const body = requestWith(name, each);
        expect(atOnce(guardrailsFor('mask', ofClient).requestPassed(body, rules))).toBe(body);
      }
    },
    longestMs,
  );
});
