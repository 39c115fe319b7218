import { expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { monotonicMs } from '@gatehouse/kit/clock';
import { createLogger } from '@gatehouse/kit/log';
import { Registry } from '@gatehouse/kit/metrics';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { Pricing } from '../catalogue/pricing.ts';
import { Admission } from '../limits/admission.ts';
import { ActiveRun } from './active-run.ts';
import type { EndRow, StartRow } from './run-rows.ts';
import { RunTelemetry } from './run-telemetry.ts';

const catalogue = Catalogue.parse({
  providers: [{ name: 'local', kind: 'openai', base_url: 'http://127.0.0.1:9/v1' }],
  models: [
    { id: 'main', provider: 'local', price: { input_per_mtok: '1', output_per_mtok: '1' } },
    { id: 'judge', provider: 'local', price: { input_per_mtok: '2', output_per_mtok: '2' } },
    { id: 'omni', provider: 'local' },
  ],
});
const [main, judge, omni] = ['main', 'judge', 'omni'].map((id) => catalogue.models.get(id)) as [
  Model,
  Model,
  Model,
];
const request = { bodyBytes: 400, maxTokens: null };
const usage = { ...noUsage, inputTokens: 100, outputTokens: 10 };
const bounds = { thoughts: 0, choices: 1, outputOf: () => 0 };
const prompt = () => ({ beginning: 'A text.', chars: 7 });
const side = (operation: 'chat' | 'moderations') => ({
  operation,
  prompt,
  bounds,
  admission: new Admission(),
});

/** A run with the rows that it writes. `startAttempt`: waits before a row is written. */
async function runWith(startAttempt: (row: StartRow) => Promise<void> = () => Promise.resolve()) {
  const starts: { number: number; purpose: unknown; before: [number, string, string][] }[] = [];
  const ends: EndRow[] = [];
  const trace = continueTrace(undefined);
  const run = new ActiveRun({
    identity: {
      ...{ id: newId(), tenantId: newId(), operation: 'chat', channel: 'api', requestId: 'r', ...trace },
      ...{
        apiKeyId: null,
        userId: null,
        sessionId: null,
        agentId: null,
        requestModel: 'main',
        ownKey: false,
      },
      ...{
        dialect: 'chat',
        client: 'other',
        streamed: true,
        inputPreview: null,
        recall: null,
        charges: null,
      },
    },
    recorder: {
      startAttempt: async (row) => {
        await startAttempt(row);
        const { attempt, ended } = row;
        const before = ended.map(
          ({ number, model, status }) => [number, model, status] as [number, string, string],
        );
        starts.push({ number: attempt.number, purpose: attempt.purpose, before });
      },
      endRun: (row) => Promise.resolve(void ends.push(row)),
    },
    pricing: await Pricing.create(catalogue),
    telemetry: new RunTelemetry(new Registry(), undefined, undefined),
    log: createLogger('test', 'silent'),
    ...{ trace, prompt, previewChars: 100, arrivedAt: monotonicMs(), admission: new Admission(), bounds },
    ...{ feeTools: [], signatures: null, guardrails: null, notePrompt: null },
  });
  return { run, starts, ends };
}

const answered = (text: string) => ({
  status: 'ok' as const,
  usage,
  answer: { beginning: text, chars: text.length },
});

it('a call for a guardrail is an attempt of the run, charged to it, and no part of its answer', async () => {
  const { run, starts, ends } = await runWith();
  const checking = run.beside(side('chat'));
  await checking.startAttempt(judge, request);
  expect(run.calls).toBe(1);
  await checking.endAttempt({ ...answered('none'), responseModel: 'judge-1' });
  await run.startAttempt(main, request);
  expect(run.answerId).toBe(run.identity.id);
  const moderating = run.beside(side('moderations'));
  await moderating.startAttempt(omni, request);
  await moderating.endAttempt({ status: 'ok', usage: { ...noUsage, inputTokens: 7, estimated: true } });
  await run.endAttempt({ ...answered('Hello'), responseModel: 'main-1' });
  const end = await run.finish('ok');
  expect(starts).toEqual([
    { number: 1, purpose: 'guardrail', before: [] },
    { number: 2, purpose: undefined, before: [[1, 'judge', 'ok']] },
    {
      ...{ number: 3, purpose: 'guardrail' },
      before: [
        [1, 'judge', 'ok'],
        [2, 'main', 'interrupted'],
      ],
    },
  ]);
  expect(end).toMatchObject({
    ...{ status: 'ok', model: 'main', responseModel: 'main-1', outputPreview: 'Hello' },
    usage: { inputTokens: 207, outputTokens: 20 },
  });
  expect([String(end?.cost.costPico), end?.cost.priced]).toEqual([String(110_000_000 + 220_000_000), true]);
  expect(ends[0]?.attempts.map(({ number, model, purpose }) => [number, model, purpose])).toEqual([
    [1, 'judge', 'guardrail'],
    [2, 'main', undefined],
    [3, 'omni', 'guardrail'],
  ]);
});

it('calls at the same time wait for the first one to be written, and each record has the others', async () => {
  const first = Promise.withResolvers<undefined>();
  const { run, starts } = await runWith(({ attempt }) =>
    attempt.number === 1 ? first.promise : Promise.resolve(),
  );
  const records = [run.beside(side('chat')), run.beside(side('chat'))];
  const begun = records.map((record) => record.startAttempt(judge, request));
  await new Promise((resolve) => setImmediate(resolve));
  expect(starts).toEqual([]);
  first.resolve(undefined);
  await Promise.all(begun);
  expect(starts).toEqual([
    { number: 1, purpose: 'guardrail', before: [] },
    { number: 2, purpose: 'guardrail', before: [[1, 'judge', 'interrupted']] },
  ]);
  for (const record of records) await record.endAttempt(answered('none'));
  expect((await run.finish('error'))?.usage.inputTokens).toBe(200);
});

it('a call under way ends with its run, at the price of its prompt, and once', async () => {
  const { run, ends } = await runWith();
  const checking = run.beside(side('chat'));
  await checking.startAttempt(judge, request);
  checking.noteAccepted();
  await run.finish('cancelled');
  await checking.endAttempt(answered('late'));
  expect(ends[0]?.attempts).toMatchObject([
    { status: 'cancelled', purpose: 'guardrail', usage: { estimated: true } },
  ]);
  expect(Number(ends[0]?.attempts[0]?.cost?.costPico)).toBeGreaterThan(0);
  expect(ends).toHaveLength(1);
});

it('a call that can’t be written is not made, and the run goes on without it', async () => {
  const { run, ends } = await runWith(({ attempt }) =>
    attempt.number === 2 ? Promise.reject(new Error('no database')) : Promise.resolve(),
  );
  await run.startAttempt(main, request);
  await expect(run.beside(side('chat')).startAttempt(judge, request)).rejects.toThrow('no database');
  await run.endAttempt(answered('Hello'));
  await run.finish('ok');
  expect(ends[0]?.attempts.map(({ model, status }) => [model, status])).toEqual([
    ['main', 'ok'],
    ['judge', 'not_sent'],
  ]);
});
