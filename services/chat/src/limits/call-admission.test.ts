import { afterEach, describe, expect, it } from '@jest/globals';
import type { AppError } from '@gatehouse/kit/errors';
import { Registry } from '@gatehouse/kit/metrics';
import { PolicyIndex } from '@gatehouse/kit/policy-matching';
import { Resource, type Grant, type LeaseRequest } from '@gatehouse/proto/tenant/v1/tenant';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { Pricing } from '../catalogue/pricing.ts';
import type { Policy } from '../policies/policy.ts';
import { Admission } from './admission.ts';
import { CallAdmission } from './call-admission.ts';
import { Limiter } from './limiter.ts';
import { RequestAmounts } from './request-amounts.ts';
import { keySettings } from '../../test/key-settings.ts';

const catalogue = Catalogue.parse({
  providers: [{ name: 'p', kind: 'openai', base_url: 'http://localhost/v1' }],
  models: [
    ...['cheap', 'expensive', 'free'].map((id, index) => ({
      ...{ id, provider: 'p' },
      price: { input_per_mtok: ['1', '10', '0'][index], output_per_mtok: '0' },
    })),
    { id: 'unpriced', provider: 'p' },
  ],
});
const pricing = new Pricing(catalogue, null);
const modelOf = (id: string): Model => catalogue.models.get(id) as Model;

/** The remaining amounts by policy, value and resource: a demand is granted whole or not at all. */
class Amounts {
  readonly left = new Map<string, bigint>();
  /** Budgets without a maximum, which are charged. */
  readonly chargedOnly = new Set<string>();
  readonly requests: LeaseRequest[] = [];

  readonly lease = (request: LeaseRequest): Promise<Grant[]> => {
    this.requests.push(request);
    const { asks, demands } = request;
    const names = asks.map((ask) => `${ask.policyId}/${ask.value}/${ask.resource}`);
    const granted = asks.map(() => 0n);
    const room = (ask: number): bigint | undefined => this.left.get(names[ask] ?? '');
    for (const { needs } of demands) {
      if (needs.some(({ ask, amount }) => amount > (room(ask) ?? amount))) continue;
      for (const { ask, amount } of needs) {
        granted[ask] = (granted[ask] ?? 0n) + amount;
        const before = room(ask);
        if (before !== undefined) this.left.set(names[ask] ?? '', before - amount);
      }
    }
    return Promise.resolve(
      asks.map((_ask, index) => {
        const name = names[index] ?? '';
        const isLimited = room(index) !== undefined;
        return {
          ...(isLimited && { limit: limits.get(name) ?? 0n, spent: 0n }),
          windowStart: isLimited || this.chargedOnly.has(name) ? 60_000n : 0n,
          ...{ granted: isLimited ? (granted[index] ?? 0n) : 0n, remaining: room(index) ?? 0n },
          ...{ resetsInMs: 9_000n, validForMs: 60_000n },
        };
      }),
    );
  };
}
const limits = new Map<string, bigint>();

const all: Limiter[] = [];
afterEach(async () => {
  limits.clear();
  await Promise.all(all.splice(0).map((limiter) => limiter.stop()));
});

const policyOf = (policy: Partial<Policy>): Policy => ({
  ...{ id: 'p', name: 'people', select: {}, per: null, limited: [Resource.BUDGET], enforce: true },
  ...{ countsOwnKeys: true, counterKey: Buffer.alloc(32) },
  ...policy,
});

function setUp(
  policies: Policy[],
  amounts: Readonly<Record<string, bigint>>,
  chain = ['expensive', 'cheap'],
) {
  const source = new Amounts();
  for (const [name, amount] of Object.entries(amounts)) {
    limits.set(name, amount);
    source.left.set(name, amount);
  }
  const refusals: AppError[] = [];
  const limiter = new Limiter({
    ...{
      leases: source,
      holderId: () => 'h',
      changes: { stateOf: () => 'unknown' as const },
      registry: new Registry(),
    },
    onRefused: (_tenantId, error) => refusals.push(error),
  });
  all.push(limiter);
  const admission = new Admission();
  const facts = { userId: 'ada', groups: [], agent: null, apiKeyId: 'k', sessionId: null, ownKey: false };
  const models = chain.map(modelOf);
  const calls = new CallAdmission({
    ...{ limiter, admission, chain: models, policies: new PolicyIndex(policies).matching(facts) },
    payer: { tenantId: 't', apiKeyId: 'k', settings: keySettings() },
  });
  const most = { input: 1_000_000, output: 0, samplings: 1, choices: 1, classes: [], serviceTier: null };
  const begin = async () =>
    calls.begin({
      amounts: new RequestAmounts(
        models.map((model) => ({ model, ...most })),
        pricing,
      ),
      leastTokens: null,
      signal: new AbortController().signal,
    });
  return { source, admission, calls, begin, refusals };
}

const usd = (amount: number): bigint => BigInt(amount) * 10n ** 12n;

describe('the calls of a request', () => {
  it('reserve for the model called in each policy, and count the request once', async () => {
    const limited = [Resource.BUDGET, Resource.REQUESTS];
    const { source, begin, calls, admission } = setUp([policyOf({ per: 'user', limited })], {
      [`p/ada/${Resource.BUDGET}`]: usd(20),
      [`p/ada/${Resource.REQUESTS}`]: 2n,
    });
    await begin();
    expect(source.left.get(`p/ada/${Resource.BUDGET}`)).toBe(usd(10) - 1n);
    expect(source.requests[0]?.asks[0]).toMatchObject({
      policyId: 'p',
      value: 'ada',
      userId: 'ada',
      apiKeyId: 'k',
    });
    // The first model fails, having cost nothing: the second one is cheaper.
    expect(await calls.model?.(modelOf('cheap'))).toEqual({ maxTokens: null });
    expect(admission.reservation.reservedPico).toBe(usd(1) + 1n);
    expect(admission.reservation.charges).toHaveLength(1);
    expect(source.left.get(`p/ada/${Resource.REQUESTS}`)).toBe(1n);
  });

  it('pass over a model without room in its policy, and wait for the last one alone', async () => {
    const ofModel = policyOf({ per: 'model' });
    const { begin, calls, source, refusals } = setUp([ofModel], {
      [`p/expensive/${Resource.BUDGET}`]: usd(9),
      [`p/cheap/${Resource.BUDGET}`]: usd(9),
    });
    await begin();
    expect(await calls.model?.(modelOf('expensive'))).toMatchObject({
      ...{ code: 'insufficient_quota', param: 'policy:people' },
      headers: { 'x-gateway-policy': 'people' },
    });
    expect(await calls.model?.(modelOf('cheap'))).toEqual({ maxTokens: null });
    expect(source.left.get(`p/expensive/${Resource.BUDGET}`)).toBe(usd(9));
    expect(source.left.get(`p/cheap/${Resource.BUDGET}`)).toBe(usd(8) - 1n);
    // The request goes on, so no refusal is counted or published.
    expect(refusals).toEqual([]);
  });

  it.each<[string, Partial<Policy>]>([
    ['without a policy', { select: { models: ['expensive'] } }],
    ['with a policy that reserves nothing', { per: 'model', limited: [Resource.REQUESTS] }],
  ])('of a model %s are not charged to the policies of the one before it', async (_name, other) => {
    const policies = [
      policyOf({ select: { models: ['expensive'] } }),
      policyOf({ ...other, id: 'q', counterKey: Buffer.alloc(32, 1) }),
    ];
    const { begin, calls, admission } = setUp(policies, { [`p//${Resource.BUDGET}`]: usd(20) });
    await begin();
    expect(admission.reservation.charges).not.toBeNull();
    expect(await calls.model?.(modelOf('cheap'))).toEqual({ maxTokens: null });
    expect(admission.reservation).toMatchObject({ charges: null, reservedPico: 0n });
  });

  it('are refused where a policy of every model has no room', async () => {
    const { begin, refusals } = setUp([policyOf({ per: 'user' })], { [`p/ada/${Resource.BUDGET}`]: usd(9) });
    const refusal = await begin().then(
      () => null,
      (error: unknown) => error,
    );
    expect(refusal).toMatchObject({ code: 'insufficient_quota', param: 'policy:people' });
    expect(refusals).toEqual([refusal]);
    expect((refusal as Error).message).toMatch(
      /^The policy "people" \(user "ada"\) allows 9\.0+ USD; the request needs up to 10\.0+1 USD\. .* It resets in \d+ s\.$/,
    );
  });

  it('are forbidden by a policy of no requests, whatever model is left', async () => {
    const { begin } = setUp([policyOf({ select: { models: ['*e*'] }, limited: [Resource.REQUESTS] })], {
      [`p//${Resource.REQUESTS}`]: 0n,
    });
    await expect(begin()).rejects.toMatchObject({
      code: 'forbidden_by_policy',
      param: 'policy:people',
    });
  });

  describe('in many counters', () => {
    const policies = (count: number): Policy[] =>
      Array.from({ length: count }, (_, n) =>
        policyOf({ id: `p${n}`, name: `policy-${n}`, counterKey: Buffer.alloc(32, n) }),
      );

    it('are admitted in 64, and refused by the policy of the next one, before anything is leased', async () => {
      expect(await setUp(policies(64), {}).begin()).toBeNull();
      const { begin, refusals, source } = setUp(policies(65), {});
      await expect(begin()).rejects.toMatchObject({
        ...{ code: 'too_many_counters', param: 'policy:policy-64' },
        message: expect.stringContaining('The policy "policy-64" is one too many'),
        headers: { 'x-gateway-policy': 'policy-64', 'x-should-retry': 'false', 'retry-after': '86400' },
      });
      expect(refusals).toHaveLength(1);
      expect(source.requests).toEqual([]);
    });

    it('are passed over where the model alone has one too many', async () => {
      const ofModel = policyOf({ select: { models: ['expensive'] }, counterKey: Buffer.alloc(32, 64) });
      const { begin, calls, refusals } = setUp([...policies(64), ofModel], {});
      await begin();
      expect(await calls.model?.(modelOf('expensive'))).toMatchObject({ code: 'too_many_counters' });
      expect(await calls.model?.(modelOf('cheap'))).toEqual({ maxTokens: null });
      expect(refusals).toEqual([]);
    });
  });

  it('that can cost nothing need no room in a budget', async () => {
    const { begin } = setUp([policyOf({})], { [`p//${Resource.BUDGET}`]: 0n }, ['free']);
    expect(await begin()).toBeNull();
  });

  it('charge a policy that refuses nothing without a reservation', async () => {
    const { begin, admission, source } = setUp([policyOf({ enforce: false })], {
      [`p//${Resource.BUDGET}`]: 1n,
    });
    expect(await begin()).toBeNull();
    expect(admission.reservation).toMatchObject({ charges: [expect.anything()], isEnforced: false });
    expect(source.left.get(`p//${Resource.BUDGET}`)).toBe(1n);
  });

  it.each(['cheap', 'unpriced'])(
    'charge a budget without a maximum, and reserve nothing of it: %s',
    async (id) => {
      const { begin, admission, source } = setUp([policyOf({})], {}, [id]);
      source.chargedOnly.add(`p//${Resource.BUDGET}`);
      expect(await begin()).toBeNull();
      const charges = [{ subjectId: expect.any(String), windowStart: 60_000 }];
      expect(admission.reservation).toMatchObject({ charges, isEnforced: false, reservedPico: 0n });
      admission.reservation.spend({ tokens: 1, costPico: usd(1) });
      admission.release();
      expect(await begin()).toBeNull();
      expect(source.requests).toHaveLength(1);
    },
  );

  it('of a model without a price are refused by a budget with a maximum', async () => {
    const { begin } = setUp([policyOf({})], { [`p//${Resource.BUDGET}`]: usd(9) }, ['unpriced']);
    await expect(begin()).rejects.toMatchObject({ code: 'model_unpriced' });
  });

  it('take no lease where no policy matches', async () => {
    const { begin, source } = setUp([policyOf({ select: { users: ['grace'] } })], {});
    expect(await begin()).toBeNull();
    expect(source.requests).toEqual([]);
  });
});
