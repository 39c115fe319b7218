import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import { createRegistry } from '@gatehouse/kit/metrics';
import { providerKey, ProviderFixture } from '../../test/provider-fixture.ts';
import { Catalogue } from '../catalogue/catalogue.ts';
import { modelTarget } from '../catalogue/target.ts';
import { dialects } from '@gatehouse/dialects/dialects';
import { AnswerBudget } from '@gatehouse/kit/answer-budget';
import type { AttemptRecord } from './open-call.ts';
import type { AnswerReceiver } from './answer-receiver.ts';
import { ProviderChain } from './provider-chain.ts';
import { ProviderRegistry } from './registry.ts';

let fixture: ProviderFixture;
let registry: ProviderRegistry;
beforeAll(async () => {
  fixture = await ProviderFixture.start();
});
afterEach(async () => {
  await registry.close();
  await fixture.reset();
});
afterAll(async () => fixture.stop());

const answers = new AnswerBudget({ perTenant: 2 ** 30, perProcess: 2 ** 30 });

/** Collects an answer in memory: no HTTP client is there. */
class Collector implements AnswerReceiver {
  readonly accepted: string[] = [];
  readonly #gone = new AbortController();
  readonly signal = this.#gone.signal;
  begun = false;

  openRoom = () => answers.open('tenant');

  streamAccepted({ id }: { id: string }): void {
    this.accepted.push(id);
  }

  leave(): void {
    this.#gone.abort();
  }
}

/** The record of attempts, as words. */
function recordIn(words: string[]): AttemptRecord {
  return {
    passOver: ({ id }) => words.push(`pass over ${id}`),
    startAttempt: async ({ id }) => {
      words.push(`start ${id}`);
      return continueTrace(undefined);
    },
    noteAccepted: () => words.push('accepted'),
    noteFirstToken: () => words.push('first token'),
    endAttempt: async ({ status }) => void words.push(status),
    failAttempt: async ({ kind }) => void words.push(kind),
  };
}

function setUp(x_simulator: object, fields: object = {}, broken: object = {}, defaults = {}) {
  const chain = ['broken', 'good'];
  const provider = { kind: 'openai', api_key_env: 'KEY', max_retries: 1 };
  const catalogue = Catalogue.parse({
    providers: [
      { ...provider, name: 'broken', base_url: 'http://127.0.0.1:9/v1', ...broken },
      { ...provider, name: 'good', base_url: fixture.simulator.baseUrl },
    ],
    models: chain.map((id, index) => ({
      ...{ id, provider: id, upstream_model: 'gpt-5.1', fallbacks: chain.slice(index + 1) },
    })),
  });
  registry = new ProviderRegistry({
    ...{ catalogue, secrets: { KEY: providerKey }, metrics: createRegistry('test') },
    keyRing: KeyRing.parse(newKeyRing('k')),
  });
  const body = { model: 'broken', messages: [{ role: 'user', content: 'hi' }], x_simulator, ...fields };
  const bytes = Buffer.from(JSON.stringify(body));
  const request = dialects.chat.readRequest('chat', bytes, body);
  const words: string[] = [];
  const copies: number[] = [];
  const receiver = new Collector();
  const made = new ProviderChain({
    api: 'chat',
    request,
    source: request.source({
      release: () => words.push('released'),
      copied: (bytes) => copies.push(bytes),
    }),
    target: { ...modelTarget(catalogue, 'broken', null), defaults },
    tenantId: 'tenant',
    providers: registry,
    record: recordIn(words),
    receiver,
    keepsText: false,
    maxTokens: null,
    unpricedTools: () => [],
    headers: {},
    signatures: null,
    thoughts: new Map(),
    leftOut: [],
  });
  return { chain: made, words, copies, receiver };
}

describe('a chain of providers', () => {
  it('answers with an object, after a retry and a fallback, each of them recorded', async () => {
    const { chain, words } = setUp({ content: 'hello' });
    const answer = await chain.answer();
    expect(answer).toMatchObject({ kind: 'object', model: { id: 'good' } });
    expect(answer.kind === 'object' && answer.bytes.toString()).toContain('hello');
    const failed = ['start broken', 'unreachable'];
    expect(words).toEqual([...failed, ...failed, 'start good', 'accepted', 'released', 'first token', 'ok']);
  });

  it('answers with a stream, whose call ends with it', async () => {
    const { chain, words, receiver } = setUp({ content: 'hello' }, { stream: true });
    const answer = await chain.answer();
    if (answer.kind !== 'stream') throw new Error('the answer is no stream');
    expect(words.at(-1)).toBe('first token');
    const frames: Buffer[] = [];
    await answer.passTo({ write: (more) => frames.push(...more) > 0, onDrain: () => undefined });
    expect(Buffer.concat(frames).toString()).toContain('hello');
    expect(words.at(-1)).toBe('ok');
    expect(receiver.accepted).toEqual(['good']);
  });

  it('counts a translated request as a copy until it is sent, and none in the API of its client', async () => {
    const messages = [{ role: 'user', content: 'x'.repeat(200_000) }];
    const plain = setUp({}, { messages });
    await plain.chain.answer();
    expect(new Set(plain.copies)).toEqual(new Set([0]));
    await registry.close();
    const lost = setUp({}, { messages }, { kind: 'anthropic' });
    await lost.chain.answer();
    expect(lost.copies[0]).toBeGreaterThan(200_000);
    expect(lost.copies.at(-1)).toBe(0);
    await registry.close();
    const { url: base_url } = fixture.simulator;
    const sent = setUp({}, { messages }, { kind: 'anthropic', base_url, max_retries: 0 });
    expect(await sent.chain.answer()).toMatchObject({ model: { id: 'broken' } });
    expect(sent.copies).toEqual([expect.any(Number), 0]);
    expect(sent.copies[0]).toBeGreaterThan(200_000);
  });

  it('samples as its agent says, as far as the model does not think by the request', async () => {
    const { baseUrl: base_url } = fixture.simulator;
    for (const [asked, temperature] of [
      [{}, 0.5],
      [{ reasoning_effort: 'low' }, undefined],
    ] as const) {
      const { chain } = setUp({}, asked, { base_url }, { temperature: 0.5 });
      await chain.answer();
      await registry.close();
      const sent = JSON.parse(String(fixture.simulator.requests.at(-1)?.raw_bytes)) as object;
      expect(sent).toMatchObject({ ...asked, ...(temperature !== undefined && { temperature }) });
      expect('temperature' in sent).toBe(temperature !== undefined);
    }
  });

  it('throws the last failure once its receiver has begun, and makes no call for one that is gone', async () => {
    const begun = setUp({});
    begun.receiver.begun = true;
    await expect(begun.chain.answer()).rejects.toMatchObject({ kind: 'unreachable' });
    expect(begun.words).toEqual(['start broken', 'unreachable']);
    await registry.close();
    const gone = setUp({});
    gone.receiver.leave();
    await expect(gone.chain.answer()).rejects.toMatchObject({ kind: 'aborted' });
    expect(gone.words).toEqual([]);
  });
});
