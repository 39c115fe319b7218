import { describe, expect, it } from '@jest/globals';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { dialects } from '@gatehouse/dialects/dialects';
import type { GuardrailDefinition } from '@gatehouse/contract/guardrails';
import { compileRules } from '@gatehouse/guardrails/compile-rules';
import { patternsCheck, type CompiledCheck } from '@gatehouse/guardrails/compiled-check';
import { patternRules } from '@gatehouse/guardrails/pattern-rules';
import { atOnce, cooperativeFor, runSteps } from '@gatehouse/kit/cooperative-steps';
import { createLogger } from '@gatehouse/kit/log';
import { Registry } from '@gatehouse/kit/metrics';
import { guardrail } from '../../test/guarding.ts';
import { mostChanges, viewBytes } from '../bounds.ts';
import { GuardrailIndex } from '../policies/guardrail.ts';
import { Guardrails, type GuardrailsOptions } from './guardrails.ts';
import type { RunGuardrails } from './run-guardrails.ts';

const { request } = dialects.chat.texts;
const run = {
  tenantId: 'tenant',
  selected: { userId: 'ann', groups: [], agent: null, apiKeyId: null },
  models: ['small'],
};

/** A check for some patterns. */
function patternsOf(...regexes: string[]): CompiledCheck {
  const patterns = regexes.map((regex, index) => ({ name: `P${index}`, regex, case_sensitive: true }));
  const check = { type: 'patterns' as const, patterns, words: [] };
  return patternsCheck(check, compileRules(patternRules(check, false)), []);
}

type Compiled = GuardrailsOptions['compiler']['compiled'];

function guardrailsWith(
  compiled: Compiled,
  { log = createLogger('test', 'silent'), onFailing = () => undefined }: Partial<GuardrailsOptions> = {},
): Guardrails {
  const options = {
    registry: new Registry(),
    log,
    onBlocked: () => undefined,
    onFailing,
    outside: { checkOf: () => null },
    keyRing: KeyRing.parse(`test:${Buffer.alloc(32).toString('base64')}`),
  };
  return new Guardrails({ ...options, compiler: { compiled } });
}

/** The guardrails of a run, all with the same compiled check. */
async function guardrailsOf(
  compiled: Compiled,
  ...definitions: Partial<GuardrailDefinition>[]
): Promise<RunGuardrails> {
  const { signal } = new AbortController();
  const all = definitions.map((each, index) => ({ ...guardrail(each), name: `g${index}` }));
  const made = await guardrailsWith(compiled).guardrailsOf(new GuardrailIndex(all), run, signal);
  if (made === null) throw new Error('no guardrail holds for the run');
  return made;
}

function bodyOf(...contents: string[]): Buffer {
  return Buffer.from(JSON.stringify({ messages: contents.map((content) => ({ role: 'user', content })) }));
}

function contentsOf(body: Buffer): string[] {
  const { messages } = JSON.parse(body.toString()) as { messages: { content: string }[] };
  return messages.map(({ content }) => content);
}

it('lets others have turns while it checks a short text against slow patterns', async () => {
  const slow = patternsOf(...Array.from({ length: 16 }, (_, index) => `[a-z]{1,${250 - index}}${index}`));
  const guardrails = await guardrailsOf(() => Promise.resolve(slow), { action: 'mask' });
  const body = bodyOf('az'.repeat(30_000));
  let turns = 0;
  const count = (): void => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await runSteps(guardrails.requestPassed(body, request), cooperativeFor(body, 'tenant'));
  clearImmediate(next);
  expect(turns).toBeGreaterThan(1);
});

it('replaces whole texts with matches once a request has too many changes', async () => {
  const guardrails = await guardrailsOf(() => Promise.resolve(patternsOf('T[0-9]')), { action: 'mask' });
  const texts = ['T1 '.repeat(mostChanges / 2 - 1), 'T2 '.repeat(mostChanges / 2 - 1)];
  const body = bodyOf(...texts, 'T3 and T4, T5.', 'Nothing.', 'Only T6.', 'Then T7.');
  const passed = contentsOf(atOnce(guardrails.requestPassed(body, request)));
  expect(passed.slice(2)).toEqual(['[P0]', 'Nothing.', 'Only [P0].', '[P0]']);
  expect(passed.join('')).not.toMatch(/T\d/);
  expect(guardrails.results).toMatchObject([{ on: 'user', types: { P0: mostChanges - 2 + 5 } }]);
});

it('charges the memory of its view, and refuses more than there may be', async () => {
  const guardrails = await guardrailsOf(() => Promise.resolve(patternsOf('T[0-9]')), { action: 'mask' });
  const grown: number[] = [];
  const grow = (bytes: number): void => void grown.push(bytes);
  atOnce(guardrails.requestPassed(bodyOf('Hi.'), request, { grow }));
  expect(grown.length).toBeGreaterThan(0);
  const objects = '{},'.repeat(viewBytes / 200);
  const body = Buffer.from(`{"messages":[{"role":"user","content":[${objects}{}]}]}`);
  expect(() => atOnce(guardrails.requestPassed(body, request))).toThrow(
    expect.objectContaining({ code: 'payload_too_large' }),
  );
});

/** A failed check of a scan, with a part of the text in its error. */
const failing: CompiledCheck = {
  ...{ types: ['broken'], automata: [], exceptions: null },
  shapes: [
    {
      type: 0,
      shape: {
        type: 'broken',
        next: (text) => {
          throw new Error(`no ${text}`);
        },
        at: () => null,
      },
    },
  ],
};

describe('a check that fails', () => {
  /** The first of two guardrails has such a check. */
  const firstFails = (): Compiled => {
    const checks = [failing, patternsOf('T[0-9]')];
    return () => Promise.resolve(checks.shift() ?? failing);
  };

  it('refuses the run, unless its guardrail is open: then the other ones hold', async () => {
    const closed = await guardrailsOf(firstFails(), { on_error: 'closed' }, { action: 'mask' });
    const body = bodyOf('A T1.');
    expect(() => atOnce(closed.requestPassed(body, request))).toThrow(
      expect.objectContaining({ code: 'guardrail_unavailable' }),
    );
    const open = await guardrailsOf(firstFails(), { on_error: 'open' }, { action: 'mask' });
    expect(contentsOf(atOnce(open.requestPassed(body, request)))).toEqual(['A [P0].']);
    expect(open.results).toMatchObject([
      { name: 'g0', outcome: 'error', types: {} },
      { name: 'g1', outcome: 'masked', types: { P0: 1 } },
    ]);
  });

  it('is reported for each admitted run, and logged once a minute without any text', async () => {
    const lines: string[] = [];
    const log = createLogger('test', 'info', { write: (line) => void lines.push(line) });
    const reported: string[] = [];
    const guardrails = guardrailsWith(() => Promise.resolve(failing), {
      log,
      onFailing: ({ tenantId }, { name }) => void reported.push(`${tenantId} ${name}`),
    });
    const index = new GuardrailIndex([guardrail({ on_error: 'open' })]);
    for (const isAdmitted of [true, false, true]) {
      const made = await guardrails.guardrailsOf(index, run, new AbortController().signal);
      if (made !== null) atOnce(made.requestPassed(bodyOf('secret'), request));
      if (isAdmitted) made?.admit();
    }
    expect(reported).toEqual([`${run.tenantId} pii`, `${run.tenantId} pii`]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('"error":"Error","frames":["    at ');
    expect(lines[0]).not.toContain('secret');
  });

  it('is not blamed for a run that ends in it', async () => {
    const open = await guardrailsOf(() => Promise.resolve(patternsOf('T[0-9]')), { on_error: 'open' });
    const steps = open.requestPassed(bodyOf('T1'), request);
    steps.next();
    expect(() => steps.throw(new Error('left'))).toThrow('left');
    expect(open.results).toEqual([]);
  });
});

describe('a guardrail', () => {
  const compiledLate = () => Promise.reject(new DOMException('The operation timed out.', 'TimeoutError'));

  it('that is not compiled in time refuses the run, unless it is open', async () => {
    const closed = await guardrailsOf(compiledLate, { on_error: 'closed' });
    expect(closed.refusal).toMatchObject({ code: 'guardrail_unavailable' });
    const open = await guardrailsOf(compiledLate, { on_error: 'open' });
    const body = bodyOf('Hi.');
    expect(atOnce(open.requestPassed(body, request))).toBe(body);
  });

  it('holds up no run that is no longer wanted', async () => {
    const left = AbortSignal.abort(new Error('left'));
    const open = guardrail({ on_error: 'open' });
    const made = guardrailsWith(compiledLate).guardrailsOf(new GuardrailIndex([open]), run, left);
    await expect(made).rejects.toThrow('left');
  });

  it('of the owner is compiled once for all tenants', async () => {
    const holders: string[] = [];
    const guardrails = guardrailsWith((holder) => {
      holders.push(holder);
      return Promise.resolve(patternsOf('T[0-9]'));
    });
    const index = new GuardrailIndex([guardrail(), { ...guardrail(), name: 'owner:all', fromOwner: true }]);
    const { signal } = new AbortController();
    for (const tenantId of ['one', 'two']) await guardrails.guardrailsOf(index, { ...run, tenantId }, signal);
    expect(holders.toSorted()).toEqual(['one', 'owner', 'owner', 'two']);
  });
});
