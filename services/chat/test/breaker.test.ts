import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { chat, ChatHarness } from './chat-harness.ts';

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start();
});
afterAll(async () => harness.stop());

async function complete(
  fields: Record<string, unknown>,
  tenantId?: string,
  signal?: AbortSignal,
): Promise<Response> {
  return harness.post('/v1/chat/completions', chat('hello', fields), {
    ...(tenantId === undefined ? {} : { principal: { tenantId } }),
    ...(signal === undefined ? {} : { signal }),
  });
}

async function calls(work: () => Promise<unknown>): Promise<number> {
  const before = harness.simulator.requests.length;
  await work();
  return harness.simulator.requests.length - before;
}

async function repeated(times: number, work: () => Promise<Response>): Promise<number[]> {
  const statuses: number[] = [];
  for (let time = 0; time < times; time += 1) {
    const response = await work();
    await response.arrayBuffer();
    statuses.push(response.status);
  }
  return statuses;
}

describe('a tenant whose requests make a provider fail', () => {
  const hostile = newId();
  const failing = {
    model: 'quick-with-priced-fallback',
    x_simulator: { models: { quick: { status: 500 } } },
  };

  it('has them sent straight to the next model, but for a probe now and then', async () => {
    expect(new Set(await repeated(10, () => complete(failing, hostile)))).toEqual(new Set([200]));
    const made = await calls(() => repeated(20, () => complete(failing, hostile)));
    expect(made).toBeLessThanOrEqual(22);
  });

  it('takes that provider from no other tenant', async () => {
    const models = new Set<string | null>();
    for (let request = 0; request < 50; request += 1) {
      const response = await complete({ model: 'quick-with-priced-fallback' }, newId());
      models.add(response.headers.get('x-gateway-model'));
      await response.arrayBuffer();
    }
    expect(models).toEqual(new Set(['quick-with-priced-fallback']));
  });

  it('gets the provider’s own answer where there is no other model', async () => {
    const alone = { model: 'quick', x_simulator: { status: 500 } };
    const made = await calls(async () => {
      expect(new Set(await repeated(12, () => complete(alone, hostile)))).toEqual(new Set([502]));
    });
    expect(made).toBe(12);
    expect(await repeated(1, () => complete({ model: 'quick' }, hostile))).toEqual([200]);
  });
});

describe('a provider that refuses connections', () => {
  it('is passed over for every tenant after ten refusals, and tried where the chain has nothing else', async () => {
    const refusing = { model: 'refusing-with-fallback' };
    expect(await repeated(10, () => complete(refusing, newId()))).toEqual(Array(10).fill(200));
    const response = await complete({ model: 'refusing-with-fallback' }, newId());
    await response.arrayBuffer();
    expect(response.headers.get('x-gateway-model')).toBe('small');
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    expect(run.spans.map(({ model }) => model)).toEqual(['small']);
    expect(await repeated(12, () => complete({ model: 'refusing' }, newId()))).toEqual(Array(12).fill(502));
  });
});

describe('a probe that takes long', () => {
  it('delays no request: the circuit closes at its first good byte', async () => {
    const tenantId = newId();
    const fields = { model: 'vendor/large' };
    const failing = { ...fields, x_simulator: { models: { 'large-upstream': { status: 400 } } } };
    await repeated(3, () => complete(failing, tenantId));
    const broken = { ...fields, x_simulator: { models: { 'large-upstream': { malformed: 'json' } } } };
    await repeated(12, () => complete(broken, tenantId));
    const leave = new AbortController();
    const models: (string | null)[] = [];
    for (let request = 0; request < 25 && !models.includes('vendor/large'); request += 1) {
      const slow = { ...fields, stream: true, x_simulator: { chunks: 5_000, chunk_delay_ms: 20 } };
      const response = await complete(slow, tenantId, leave.signal);
      models.push(response.headers.get('x-gateway-model'));
      await response.body?.getReader().read();
    }
    // The probe came through while the circuit was open, and its stream is not over.
    expect([models[0], models.at(-1)]).toEqual(['small', 'vendor/large']);
    const next = await complete(fields, tenantId);
    await next.arrayBuffer();
    expect(next.headers.get('x-gateway-model')).toBe('vendor/large');
    leave.abort();
  });
});
