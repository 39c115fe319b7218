import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { monotonicMs } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { providerKey, ProviderFixture } from '../../test/provider-fixture.ts';
import { Catalogue } from '../catalogue/catalogue.ts';
import { Pricing } from '../catalogue/pricing.ts';
import { modelTarget } from '../catalogue/target.ts';
import type { EndRow } from '../recording/run-rows.ts';
import { Admission } from '../limits/admission.ts';
import type { FrameSink } from '@gatehouse/dialects/dialect';
import { dialects } from '@gatehouse/dialects/dialects';
import { AnswerBudget } from '@gatehouse/kit/answer-budget';
import type { ObjectAnswer } from '../providers/object-answer.ts';
import { ProviderRegistry } from '../providers/registry.ts';
import { ActiveRun } from '../recording/active-run.ts';
import { RunTelemetry } from '../recording/run-telemetry.ts';
import { Turn, type AnswerSink, type TurnFailure } from './turn.ts';
import { turnContext, type TurnStage } from './turn-stage.ts';
import { keySettings } from '../../test/key-settings.ts';

let fixture: ProviderFixture;
let providers: ProviderRegistry;
beforeAll(async () => {
  fixture = await ProviderFixture.start();
});
afterEach(async () => {
  await providers.close();
  await fixture.reset();
});
afterAll(async () => fixture.stop());

const answers = new AnswerBudget({ perTenant: 2 ** 30, perProcess: 2 ** 30 });

/** Collects an answer in memory, as a caller that is no HTTP client does. `steps` also has those of the run's record. */
class Collecting implements AnswerSink {
  readonly steps: string[];
  readonly signal = new AbortController().signal;
  text = '';
  failed: AppError | null = null;

  constructor(steps: string[]) {
    this.steps = steps;
  }

  get begun(): boolean {
    return false;
  }

  openRoom = () => answers.open('tenant');

  streamAccepted(): void {
    this.steps.push('accepted');
  }

  sendObject({ bytes }: ObjectAnswer): void {
    this.steps.push('object');
    this.text = bytes.toString();
  }

  openStream(): FrameSink {
    return {
      write: (frames) => (this.text += Buffer.concat(frames).toString()) !== '',
      onDrain: () => undefined,
    };
  }

  endStream(lastFrames: readonly Buffer[]): void {
    this.steps.push('stream');
    this.text += Buffer.concat(lastFrames).toString();
  }

  fail(error: AppError, { hasRun }: TurnFailure): void {
    this.steps.push(hasRun ? 'failed run' : 'failed');
    this.failed = error;
  }

  close(): void {
    this.steps.push('closed');
  }
}

async function setUp(
  x_simulator: object,
  fields: object = {},
  overrides: { pricing?: Pricing; recorded?: (row: EndRow) => void; stages?: TurnStage[] } = {},
): Promise<{ turn: Turn; delivery: Collecting }> {
  const catalogue = Catalogue.parse({
    providers: [
      {
        ...{ name: 'acme', kind: 'openai', base_url: fixture.simulator.baseUrl, max_retries: 0 },
        api_key_env: 'KEY',
      },
    ],
    models: [{ id: 'm', provider: 'acme' }],
  });
  const registry = createRegistry('test');
  providers = new ProviderRegistry({
    ...{ catalogue, secrets: { KEY: providerKey }, metrics: registry },
    keyRing: KeyRing.parse(newKeyRing('k')),
  });
  const steps: string[] = [];
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], x_simulator, ...fields };
  const bytes = Buffer.from(JSON.stringify(body));
  const request = dialects.chat.readRequest('chat', bytes, body);
  const trace = continueTrace(undefined);
  const run = new ActiveRun({
    identity: {
      ...{ id: newId(), tenantId: newId(), operation: 'chat', channel: 'webhook', requestId: 'r', ...trace },
      ...{
        apiKeyId: newId(),
        userId: null,
        sessionId: null,
        agentId: null,
        requestModel: 'm',
        ownKey: false,
        dialect: 'chat',
        client: 'other',
      },
      ...{ streamed: request.stream, inputPreview: null, recall: null, charges: null },
    },
    recorder: {
      startAttempt: async ({ attempt }) => void steps.push(`start ${attempt.number}`),
      endRun: async (row) => {
        overrides.recorded?.(row);
        steps.push(`end ${row.end.status}`);
      },
    },
    pricing: overrides.pricing ?? (await Pricing.create(catalogue)),
    telemetry: new RunTelemetry(registry, undefined, undefined),
    log: createLogger('test', 'silent'),
    trace,
    prompt: () => request.promptSample(),
    previewChars: 0,
    arrivedAt: monotonicMs(),
    admission: new Admission(),
    bounds: { thoughts: 0, choices: 1, outputOf: () => 0 },
    feeTools: [],
    signatures: null,
    guardrails: null,
    notePrompt: null,
  });
  const source = request.source({ release: () => undefined });
  const target = modelTarget(catalogue, 'm', null);
  const log = createLogger('test', 'silent');
  const actor = { ...run.identity, trace, groups: [] };
  const ending = new AbortController();
  const entrance = {
    ...{ dialect: dialects.chat, source, target, actor, channel: 'webhook', arrivedAt: monotonicMs() },
    settings: keySettings(),

    ...{ admission: new Admission(), ending, signal: ending.signal },
  };
  const started = {
    ...turnContext(entrance, request),
    ...{
      run,
      maxTokens: null,
      unpricedTools: () => [],
      limitHeaders: {},
      admitModel: null,
      admitMore: null,
      isStored: false,
      content: null,
    },
  };
  const stages = overrides.stages ?? [];
  const turn = new Turn({ providers, log, stages }, started, { leave: () => undefined, input: null });
  return { turn, delivery: new Collecting(steps) };
}

describe('a turn', () => {
  it('ends its run before it delivers a whole answer', async () => {
    const { turn, delivery } = await setUp({ content: 'hello' });
    await turn.complete(delivery);
    expect(delivery.steps).toEqual(['start 1', 'end ok', 'object', 'closed']);
    expect(delivery.text).toContain('hello');
  });

  it('ends its run before the last frames of a stream', async () => {
    const options = { stream: true, stream_options: { include_usage: true } };
    const { turn, delivery } = await setUp({ content: 'hello' }, options);
    await turn.complete(delivery);
    expect(delivery.steps).toEqual(['start 1', 'accepted', 'end ok', 'stream', 'closed']);
    expect(delivery.text).toMatch(/hello[^]*"usage":/);
  });

  it('reports the failure of its last call after the end of its run', async () => {
    const { turn, delivery } = await setUp({ status: 500 });
    await turn.complete(delivery);
    expect(delivery.steps).toEqual(['start 1', 'end error', 'failed run', 'closed']);
    expect(delivery.failed).toMatchObject({ code: 'provider_error' });
  });

  it.each([
    ['a whole answer', { content: 'hello' }, {}, 'ok'],
    ['a stream', { content: 'hello' }, { stream: true }, 'ok'],
    ['an error', { status: 500 }, {}, 'error'],
  ])(
    'ends its run with its call after %s, though its pricing throws',
    async (_name, simulator, fields, status) => {
      const provider = { name: 'acme', kind: 'openai', base_url: 'https://provider.example' };
      const models = [{ id: 'm', provider: 'acme' }];
      const pricing = new Pricing(Catalogue.parse({ providers: [provider], models }), null);
      pricing.costOf = () => BigInt(NaN) as never;
      const rows: EndRow[] = [];
      const { turn, delivery } = await setUp(simulator, fields, {
        pricing,
        recorded: (row) => rows.push(row),
      });
      await turn.complete(delivery);
      expect(rows).toMatchObject([{ end: { status }, attempts: [{ status, number: 1, cost: null }] }]);
    },
  );

  describe('with stages', () => {
    /** Adds its name to each frame and each whole answer, and notes when it is called. */
    const stage = (name: string, calls: string[]): TurnStage => ({
      answer: () => ({
        filter: {
          stream: (next) => ({
            write: (frames) => next.write([...frames, Buffer.from(name)]),
            onDrain: (listener) => next.onDrain(listener),
          }),
          lastFrames: (frames) => [...frames, Buffer.from(`last ${name}`)],
          whole: (bytes) => Promise.resolve(Buffer.concat([bytes, Buffer.from(name)])),
        },
        complete: async ({ bytes, lastFrames }) =>
          void calls.push(`${name} completes ${(bytes ?? Buffer.concat(lastFrames())).toString().slice(-3)}`),
      }),
      ended: (_turn, outcome) => void calls.push('text' in outcome ? `${name} ends` : outcome.error.code),
    });

    it('passes a whole answer through them in their order, each after those before', async () => {
      const calls: string[] = [];
      const stages = [stage('A', calls), stage('B', calls)];
      const { turn, delivery } = await setUp({ content: 'hello' }, {}, { stages });
      await turn.complete(delivery);
      expect(delivery.text).toMatch(/hello[^]*\}AB$/);
      expect(calls).toEqual([
        expect.stringMatching(/^A completes .*\}$/s),
        expect.stringMatching(/^B completes .*}A$/s),
        'A ends',
        'B ends',
      ]);
    });

    it('passes a stream through them', async () => {
      const calls: string[] = [];
      const stages = [stage('A', calls), stage('B', calls)];
      const { turn, delivery } = await setUp({ content: 'hello' }, { stream: true }, { stages });
      await turn.complete(delivery);
      expect(delivery.text).toMatch(/hello[^]*AB[^]*last Alast B$/);
      expect(calls.slice(1)).toEqual(['B completes t A', 'A ends', 'B ends']);
    });

    it('fails with the error of one, with which its run ends', async () => {
      const calls: string[] = [];
      const refusing: TurnStage = {
        answer: () => ({ complete: () => Promise.reject(new AppError('service_unavailable', 'no')) }),
      };
      const stages = [refusing, stage('A', calls)];
      const { turn, delivery } = await setUp({ content: 'hello' }, {}, { stages });
      await turn.complete(delivery);
      expect(delivery.steps).toEqual(['start 1', 'end error', 'failed run', 'closed']);
      expect(calls).toEqual(['service_unavailable']);
    });
  });
});
