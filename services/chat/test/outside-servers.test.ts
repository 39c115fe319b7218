import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newCheck, type NewCheck } from '@gatehouse/contract/guardrail-checks';
import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import { AllowList } from '@gatehouse/egress/allow-list';
import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import { newId } from '@gatehouse/kit/ids';
import fc from 'fast-check';
import { askWithin, type Answer, type OutsideCheck } from '../src/guardrails/outside/outside-check.ts';
import { OutsideChecks } from '../src/guardrails/outside/outside-checks.ts';
import { ScriptedProvider, whole, type Script } from './scripted-provider.ts';

/** Checks of guardrails that ask a server. */

let server: ScriptedProvider;
let egress: Egress;
beforeAll(async () => {
  server = await ScriptedProvider.start();
  egress = new Egress({ guard: new Guard(new AllowList(['127.0.0.1'])) });
});
afterEach(() => server.answer());
afterAll(async () => {
  await egress.stop();
  server.stop();
});

const run = {
  ...{ tenantId: newId(), runId: newId(), traceId: '4bf92f3577b34da6a3ce929d0e0e4736', sessionId: 's-1' },
  ...{ model: 'small', userId: 'ada', group: 'staff', apiKeyName: 'laptop' },
};
const models = { call: () => Promise.reject(new Error('no model is called')) };

type Server = Extract<NewCheck, { type: 'presidio' | 'webhook' }>;
function checkOf(fields: { type: Server['type'] } & Record<string, unknown>, path = ''): OutsideCheck {
  const check = newCheck.parse({ url: `${server.url}${path}`, ...fields });
  const made = new OutsideChecks(egress).checkOf(check, 'v1');
  if (made === null) throw new Error('another check');
  return made;
}

interface Asked {
  kind?: GuardedText;
  timeoutMs?: number;
  signal?: AbortSignal;
}

function ask(
  check: OutsideCheck,
  texts: readonly string[],
  { kind = 'user', timeoutMs = 60_000, signal = new AbortController().signal }: Asked = {},
): Promise<Answer> {
  const question = { texts: texts.map((text) => ({ kind, text })), run, models, signal };
  return askWithin(check, question, timeoutMs);
}

const sent = (): unknown => JSON.parse(server.received.at(-1)?.body.toString() ?? '');
const found = (entity_type: string, start: number, end: number, score = 0.9): object => ({
  ...{ entity_type, start, end, score, analysis_explanation: null },
});
const none = { outcome: 'none' };

describe('presidio', () => {
  const presidio = (fields: object = {}, path = ''): OutsideCheck =>
    checkOf({ type: 'presidio', ...fields }, path);

  it('is asked with its entities, language and score, and its offsets become UTF-16', async () => {
    server.answer(whole([found('PERSON', 2, 5), found('LOCATION', 9, 13, 0.2)]));
    const auth = { type: 'headers', headers: { 'X-Key': 'k' } };
    const check = presidio({ auth, entities: ['PERSON'], language: 'de', min_score: 0.4 }, '/base/');
    const { verdicts, costPico } = await ask(check, ['😀 Ada lives']);
    expect(sent()).toEqual({
      text: '😀 Ada lives',
      entities: ['PERSON'],
      language: 'de',
      score_threshold: 0.4,
    });
    expect(server.received[0]?.path).toBe('/base/analyze');
    expect(server.received[0]?.headers['x-key']).toBe('k');
    expect(verdicts).toEqual([{ outcome: 'places', matches: [{ type: 'PERSON', from: 3, until: 6 }] }]);
    expect(costPico === 0n).toBe(true);
  });

  it('gets several texts as a list, without the empty ones', async () => {
    server.answer(whole([[found('PERSON', 0, 3)], []]));
    const { verdicts } = await ask(presidio(), ['Ada', ' ', 'nobody']);
    expect(sent()).toEqual({ text: ['Ada', 'nobody'], language: 'en', score_threshold: 0.5 });
    expect(verdicts).toEqual([
      { outcome: 'places', matches: [{ type: 'PERSON', from: 0, until: 3 }] },
      none,
      none,
    ]);
    expect((await ask(presidio(), [''])).verdicts).toEqual([none]);
    expect(server.received).toHaveLength(1);
  });

  it('finds what an analyzer of code points does, in any text', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary', minLength: 1 }),
        fc.nat(),
        fc.nat(),
        async (text, a, b) => {
          const points = Array.from(text);
          fc.pre(text.trim() !== '');
          const start = a % points.length;
          const end = start + 1 + (b % (points.length - start));
          server.answer(whole([found('X', start, end)]));
          const { verdicts } = await ask(presidio(), [text]);
          const [verdict] = verdicts;
          const matches = verdict?.outcome === 'places' ? verdict.matches : [];
          const texts = matches.map(({ from, until }) => text.slice(from, until));
          expect(texts).toEqual([points.slice(start, end).join('')]);
        },
      ),
      { numRuns: 50 },
    );
  });

  it.each<[string, unknown]>([
    ['an object', {}],
    ['a negative offset', [found('X', -1, 2)]],
    ['an offset behind the end', [found('X', 0, 4)]],
    ['an empty match', [found('X', 2, 2)]],
    ['a reversed match', [found('X', 2, 1)]],
    ['a fraction', [found('X', 0.5, 2)]],
    ['a type with a line break', [found('X\nY', 0, 2)]],
    ['no score', [{ entity_type: 'X', start: 0, end: 1 }]],
    ['lists in place of one', [[found('X', 0, 2)], []]],
    ['nesting without end', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
    ['half an answer', '[{"entity_type":"X"'],
    ['no text at all', ''],
  ])('fails for %s', async (_what, answer) => {
    server.answer(whole(answer));
    await expect(ask(presidio(), ['Ada'])).rejects.toMatchObject({ reason: 'malformed' });
  });
});

describe('webhook', () => {
  const path = '/beta/litellm_basic_guardrail_api';
  const webhook = (fields: object = {}, at = ''): OutsideCheck => checkOf({ type: 'webhook', ...fields }, at);

  it('is a server of the Generic Guardrail API, and sees of a run what that has a place for', async () => {
    server.answer(whole({ action: 'NONE', blocked_reason: null, texts: null }));
    const auth = { type: 'bearer', token: 't' };
    const { verdicts } = await ask(webhook({ auth, params: { level: 2 } }, '/v1'), ['one', 'two']);
    expect(verdicts).toEqual([none, none]);
    expect(server.received[0]?.path).toBe(`/v1${path}`);
    expect(server.received[0]?.headers['authorization']).toBe('Bearer t');
    expect(sent()).toEqual({
      ...{ input_type: 'request', texts: ['one', 'two'], model: 'small' },
      ...{ litellm_call_id: run.runId, litellm_trace_id: 's-1' },
      request_data: {
        ...{
          user_api_key_alias: 'laptop',
          user_api_key_end_user_id: 'ada',
          user_api_key_org_id: run.tenantId,
        },
        ...{ user_api_key_team_id: 'staff', user_api_key_team_alias: 'staff' },
      },
      additional_provider_specific_params: { level: 2 },
    });
    server.answer(whole({ action: 'NONE' }));
    await ask(webhook({}, `${path}?x=1`), ['answer'], { kind: 'answer' });
    expect(server.received[0]?.path).toBe(`${path}?x=1`);
    expect(sent()).toMatchObject({ input_type: 'response' });
  });

  it('blocks all texts, or changes some of them', async () => {
    server.answer(whole({ action: 'BLOCKED', blocked_reason: 'the secret is hunter2' }));
    const match = { outcome: 'match', types: ['webhook'] };
    expect((await ask(webhook(), ['one', 'two'])).verdicts).toEqual([match, match]);
    server.answer(
      whole({ action: 'GUARDRAIL_INTERVENED', texts: ['one', '[NAME]'], stream_holdback_chars: 5 }),
    );
    expect((await ask(webhook(), ['one', 'Ada'])).verdicts).toEqual([
      none,
      { outcome: 'changed', text: '[NAME]' },
    ]);
  });

  it.each<[string, unknown]>([
    ['fewer texts', { action: 'GUARDRAIL_INTERVENED', texts: ['one'] }],
    ['more texts', { action: 'GUARDRAIL_INTERVENED', texts: ['one', 'two', 'three'] }],
    ['no texts', { action: 'GUARDRAIL_INTERVENED' }],
    ['a number for a text', { action: 'GUARDRAIL_INTERVENED', texts: ['one', 2] }],
    ['an unknown action', { action: 'ALLOW' }],
    ['no action', {}],
    ['null', 'null'],
  ])('fails for an answer with %s', async (_what, answer) => {
    server.answer(whole(answer));
    await expect(ask(webhook(), ['one', 'two'])).rejects.toMatchObject({ reason: 'malformed' });
  });
});

describe('a server without an answer', () => {
  const check = (): OutsideCheck => checkOf({ type: 'webhook' });
  const endless: Script = ({ response }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const part = Buffer.alloc(64 * 1024, ' ');
    const more = (): void => {
      while (!response.destroyed && response.write(part));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  };
  const dripping: Script = ({ response }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(' '), 5);
    response.once('close', () => clearInterval(timer));
  };
  const silent: Script = () => undefined;

  it.each<[string, Script, string]>([
    ['an error', whole({ action: 'NONE' }, 500), 'failed'],
    ['a redirect', whole('', 307, { location: '/elsewhere' }), 'failed'],
    ['a cut connection', ({ response }) => response.destroy(), 'failed'],
    ['a body without end', endless, 'too_large'],
  ])('fails for %s', async (_what, script, reason) => {
    server.answer(script, whole({ action: 'NONE' }));
    const error = await ask(check(), ['a text']).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'OutsideFailure', reason });
    expect(String(error)).not.toContain('a text');
    expect(server.received).toHaveLength(1);
  });

  it.each<[string, Script]>([
    ['silence', silent],
    ['a body of one byte after the other', dripping],
  ])('is late after the time of its guardrail: %s', async (_what, script) => {
    server.answer(script);
    await expect(ask(check(), ['one'], { timeoutMs: 200 })).rejects.toMatchObject({ reason: 'late' });
  });

  it('is not asked with more than 1 MiB, nor at an address that is not allowed', async () => {
    await expect(ask(check(), ['x'.repeat(1024 * 1024)])).rejects.toMatchObject({ reason: 'too_large' });
    const inside = checkOf({ type: 'presidio', url: 'http://169.254.169.254/' });
    await expect(ask(inside, ['one'])).rejects.toMatchObject({ reason: 'failed' });
    expect(server.received).toHaveLength(0);
  });

  it('is no longer asked once the run ends, whose reason the caller gets', async () => {
    const run = new AbortController();
    const reason = new Error('the client left');
    server.answer(() => run.abort(reason));
    await expect(ask(check(), ['one'], { signal: run.signal })).rejects.toBe(reason);
  });
});
