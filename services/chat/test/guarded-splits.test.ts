import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { dialects } from '@gatehouse/dialects/dialects';
import { piiShapes } from '@gatehouse/guardrails/checks/pii';
import { shapesCheck } from '@gatehouse/guardrails/compiled-check';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import type { GuardrailDefinition } from '@gatehouse/contract/guardrails';
import { GuardedStream } from '../src/guardrails/guarded-stream.ts';
import { RunGuardrails } from '../src/guardrails/run-guardrails.ts';
import { kindChecks } from '../src/guardrails/text-checks.ts';
import { streamedApis } from './answer-streams.ts';
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

function guardrailsFor(action: GuardrailDefinition['action']): RunGuardrails {
  const check = { type: 'pii' as const, types: ['email' as const, 'credit_card' as const], regions: [] };
  const guardrail = {
    ...{ id: 'g', version: 1, name: 'pii', isOwner: false, secrets: null, onError: 'closed' as const },
    ...{ timeoutMs: 2_000, on: ['answer' as const], check, action, except: [], message: 'Stop.' },
    ...{ unreadable: 'allow' as const, hold: null },
  };
  const compiled = shapesCheck(piiShapes({ types: ['email', 'credit_card'] }), []);
  const checks = kindChecks([{ guardrail, check: compiled }]);
  return new RunGuardrails({
    ...{
      guardrails: [guardrail],
      applied: new Set([guardrail]),
      checks: new Map([['answer', checks]]),
      outside: [],
    },
    onFinding: () => undefined,
    failing: [],
    onFailure: () => undefined,
    onFailing: () => undefined,
  });
}

type Name = keyof typeof dialects;

/** A stream with the frames that have left it. */
function guardedStream(name: Name, guardrails: RunGuardrails): { stream: GuardedStream; out: Buffer[] } {
  const dialect = dialects[name];
  const out: Buffer[] = [];
  const stream = new GuardedStream({
    ...{ tenantId: 't', hold: () => true, onOver: () => undefined, rules: dialect.texts.frame },
    checks: guardrails.answerChecks({
      onFailed: (error) => {
        throw error;
      },
    }),
    isFlagging: !guardrails.changesAnswers,
    writer: dialect.refusalWriter(1),
    next: {
      write: (some) => {
        out.push(...some);
        return true;
      },
      onDrain: () => undefined,
    },
  });
  return { stream, out };
}

async function passed(name: Name, frames: readonly string[], guardrails: RunGuardrails): Promise<Fields> {
  const { stream, out } = guardedStream(name, guardrails);
  for (const frame of frames) stream.write([Buffer.from(frame)]);
  await stream.end([]);
  const builder = dialects[name].answerBuilder();
  for (const frame of [...out, ...(stream.isOver ? stream.endFrames(null, true) : [])]) builder.add(frame);
  return JSON.parse(builder.built?.toString() ?? 'null') as Fields;
}

/** A stream has the placeholder of the first of overlapping matches: the longer one is not known yet. */
const unnamed = (text: string): string => text.replaceAll(/\[(?:EMAIL|CREDIT_CARD)\]/g, '[…]');

/** The text of a whole answer as it passes; null for a blocked one. */
function passedWhole(name: Name, text: string, guardrails: RunGuardrails): string | null {
  const api = streamedApis[name];
  const answer = Buffer.from(JSON.stringify(api?.whole(text)));
  const passing = atOnce(guardrails.answerPassed(answer, dialects[name].texts.answer));
  return 'body' in passing ? (api?.text(JSON.parse(passing.body.toString()) as Fields) ?? null) : null;
}

describe.each(Object.entries(streamedApis))('a stream of %s', (key, api) => {
  const name = key as Name;

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
