import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { dialects } from '@gatehouse/dialects/dialects';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { placeholderHasher, Substitution } from '../src/guardrails/substitution.ts';
import type { RunGuardrails } from '../src/guardrails/run-guardrails.ts';
import { streamedApis } from './answer-streams.ts';
import { guardedStream, guardrailsFor, passed, restored, type Name } from './checked-streams.ts';
import type { Fields } from './response-answers.ts';

/** Streams split anywhere, without a provider. */

const parts = fc.constantFrom(
  ...[
    'ann.lee@gmail.com',
    'Write to ',
    ', ',
    '"',
    '\\',
    '\n',
    'é',
    'e\u0301',
    '😀',
    '４',
    '\u200b',
    '<b>',
    'ok',
  ],
  ...['4111 1111 1111 1111', 'joe@corp.io', '@', '.', '-', 'https://a.example/?q='],
);
const texts = fc.array(parts, { minLength: 1, maxLength: 12 }).map((list) => list.join(''));
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });

function piecesOf(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, index = 0; at < text.length; index += 1) {
    const length = lengths[index % lengths.length] ?? 1;
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

/** A stream has the placeholder of the first of overlapping matches: the longer one is not known yet. */
const unnamed = (text: string): string => text.replaceAll(/\[[A-Z_]+\]/g, '[…]');

/** The text of a whole answer as it passes; null for a blocked one. */
function passedWhole(name: Name, text: string, guardrails: RunGuardrails): string | null {
  const api = streamedApis[name];
  const answer = Buffer.from(JSON.stringify(api?.whole(text)));
  const passing = atOnce(guardrails.answerPassed(answer, dialects[name].texts.answer));
  return 'body' in passing ? (api?.text(JSON.parse(passing.body.toString()) as Fields) ?? null) : null;
}

const keyRing = KeyRing.parse(`k1:${Buffer.alloc(32, 7).toString('base64')}`);
const substitution = new Substitution(placeholderHasher(keyRing, 'tenant'));
const value = 'ann.lee@gmail.com';
const replacement = { from: 0, until: value.length, text: '[EMAIL]', type: 'email' };
atOnce(substitution.note(value, [replacement], true));
const placeholder = substitution.written(replacement, value).text;

/** Texts with placeholders: known, in other cases, invented, cut, and in addresses. */
const placed = fc
  .array(
    fc.constantFrom(
      ...[placeholder, placeholder.toLowerCase(), `Email${placeholder.slice(5)}`, placeholder.slice(0, 9)],
      ...[
        'EMAIL0000000000',
        'EMAIL',
        'e',
        '1',
        ' ',
        '\n',
        '"',
        '\\',
        'é',
        '😀',
        '(https://a.example/',
        ')',
        'ok',
      ],
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((list) => list.join(''));

describe.each(Object.entries(streamedApis))('a stream of %s', (key, api) => {
  const name = key as Name;

  it('has the values of the whole answer in place of placeholders, however it is split', async () => {
    await fc.assert(
      fc.asyncProperty(placed, sizes, async (text, lengths) => {
        const frames = api.frames(piecesOf(text, lengths));
        const split = await restored(name, frames, substitution);
        const answer = Buffer.from(JSON.stringify(api.whole(text)));
        const whole = atOnce(substitution.documentRestored(answer, dialects[name].texts.answer));
        expect(api.text(split)).toBe(api.text(JSON.parse(whole.toString()) as Fields));
        expect(api.text(split)).toBe(substitution.restored(text));
      }),
      { numRuns: 150 },
    );
  });

  it('has the masks of the whole answer, however it is split', async () => {
    await fc.assert(
      fc.asyncProperty(texts, sizes, async (text, lengths) => {
        const frames = api.frames(piecesOf(text, lengths));
        const split = await passed(name, frames, guardrailsFor('mask'));
        const whole = passedWhole(name, text, guardrailsFor('mask'));
        expect(unnamed(api.text(split))).toBe(unnamed(whole ?? ''));
      }),
      { numRuns: 150 },
    );
  });

  it('ends before a match that blocks the whole answer, however it is split', async () => {
    await fc.assert(
      fc.asyncProperty(texts, sizes, async (text, lengths) => {
        const guardrails = guardrailsFor('block');
        const split = await passed(name, api.frames(piecesOf(text, lengths)), guardrails);
        const masked = passedWhole(name, text, guardrailsFor('mask')) ?? '';
        expect(guardrails.isAnswerBlocked).toBe(passedWhole(name, text, guardrailsFor('block')) === null);
        if (guardrails.isAnswerBlocked) expect(masked.startsWith(api.text(split))).toBe(true);
        else expect(api.text(split)).toBe(text);
      }),
      { numRuns: 150 },
    );
  });

  it('goes on at once where guardrails flag, and is checked to its end', async () => {
    const frames = api.frames(piecesOf('Write to ann.lee@gmail.com, "now".', [3]));
    const guardrails = guardrailsFor('flag');
    const { stream, out } = guardedStream(name, guardrails);
    for (const [index, frame] of frames.entries()) {
      stream.write([Buffer.from(frame)]);
      expect(out).toHaveLength(index + 1);
    }
    await stream.end([]);
    expect(out.map(String)).toEqual(frames.map(String));
    expect(guardrails.results).toMatchObject([{ outcome: 'flagged', types: { email: 1 } }]);
  });
});
