import { afterEach, describe, expect, it } from '@jest/globals';
import type { ChangeWatch } from '@gatehouse/kit/change-watch';
import { sleep } from '@gatehouse/kit/clock';
import { Registry } from '@gatehouse/kit/metrics';
import { PolicyIndex } from '@gatehouse/kit/policy-matching';
import type { Ask, Grant, LeaseRequest } from '@gatehouse/proto/tenant/v1/tenant';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { Pricing } from '../catalogue/pricing.ts';
import { sessionBudget, type Policy } from '../policies/policy.ts';
import { Admission } from './admission.ts';
import { Limiter } from './limiter.ts';
import { RequestAmounts } from './request-amounts.ts';
import { keySettings } from '../../test/key-settings.ts';

const catalogue = Catalogue.parse({
  providers: [{ name: 'p', kind: 'openai', base_url: 'http://localhost/v1' }],
  models: [
    { id: 'priced', provider: 'p', price: { input_per_mtok: '1', output_per_mtok: '0' } },
    { id: 'unpriced', provider: 'p' },
  ],
});
const pricing = new Pricing(catalogue, null);

/** The budget of one session, as the tenant service keeps it. */
class KeptBudget {
  budget: bigint | null = null;
  /** Whether it is of a release without such budgets. */
  isOld = false;
  readonly asks: Ask[] = [];
  #held = 0n;

  readonly lease = ({ asks, demands }: LeaseRequest): Promise<Grant[]> => {
    const [ask] = asks;
    if (ask === undefined || asks.length > 1) throw new Error('not one ask');
    this.asks.push(ask);
    const { sessionBudget: asked } = ask;
    if (asked !== undefined && !this.isOld && (this.budget === null || asked < this.budget))
      this.budget = asked;
    this.#held = ask.holding;
    let granted = 0n;
    for (const { needs } of demands)
      for (const { amount } of needs)
        if (this.budget !== null && this.#held + granted + amount <= this.budget) granted += amount;
    this.#held += granted;
    const left = (this.budget ?? 0n) - this.#held;
    return Promise.resolve([
      {
        ...(this.budget !== null && { limit: this.budget, spent: 0n }),
        windowStart: this.budget === null ? 0n : 60_000n,
        ...{ granted, remaining: left > 0n ? left : 0n },
        ...{ resetsInMs: 0n, validForMs: 60_000n },
      },
    ]);
  };
}

const all: Limiter[] = [];
afterEach(async () => {
  await Promise.all(all.splice(0).map((limiter) => limiter.stop()));
});

const usd = (amount: number): bigint => BigInt(amount) * 10n ** 12n;

function setUp() {
  const kept = new KeptBudget();
  const watch: { state: ReturnType<ChangeWatch['stateOf']> } = { state: 'unknown' };
  const limiter = new Limiter({
    ...{ leases: kept, holderId: () => 'h', registry: new Registry(), onRefused: () => undefined },
    changes: { stateOf: () => watch.state },
  });
  all.push(limiter);
  const settings = keySettings();
  const facts = { userId: 'ada', groups: [], agent: null, apiKeyId: null, sessionId: 's', ownKey: false };
  /** A request of a USD for each million tokens, in the session. */
  const admit = async (
    requested: bigint | null,
    { id = 'priced', millions = 1 } = {},
  ): Promise<Admission> => {
    const admission = new Admission();
    const input = millions * 1_000_000;
    const most = { input, output: 0, samplings: 1, choices: 1, classes: [], serviceTier: null };
    const amounts = new RequestAmounts([{ model: catalogue.models.get(id) as Model, ...most }], pricing);
    const policies = new PolicyIndex<Policy>([]).matching(facts, [sessionBudget('t', requested)]);
    const counted = { counters: policies.countersOf(id), amounts, hasAlternative: false };
    const { signal } = new AbortController();
    const payer = { tenantId: 't', apiKeyId: null, settings };
    await limiter.admit(admission, payer, { amounts, leastTokens: null, signal, counted });
    return admission;
  };
  return { kept, limiter, admit, watch };
}

describe('the budget of a session', () => {
  it('is asked for with the amount of the request', async () => {
    const { kept, limiter, admit } = setUp();
    expect(limiter.countsSessions('t')).toBe(false);
    const admission = await admit(usd(2));
    expect(kept.asks).toMatchObject([{ value: 'user:ada/s', sessionBudget: usd(2) }]);
    expect(admission.reservation).toMatchObject({ reservedPico: usd(1) + 1n, isEnforced: true });
    expect(limiter.countsSessions('t')).toBe(true);
    await expect(admit(null, { millions: 2 })).rejects.toMatchObject({ param: 'policy:session-budget' });
  });

  it('is lowered before anything is taken of what is free here', async () => {
    const { kept, admit } = setUp();
    (await admit(usd(4), { millions: 2 })).release();
    await expect(admit(usd(2), { millions: 2 })).rejects.toMatchObject({
      ...{ code: 'insufficient_quota', param: 'policy:session-budget' },
      message: expect.stringContaining('allows 2.0'),
      // Its window has no end.
      headers: { 'retry-after': '86400', 'retry-after-ms': '86400000', 'x-should-retry': 'false' },
    });
    await admit(usd(4));
    expect(kept.budget).toBe(usd(2));
  });

  it('need not be set: then everything is admitted, also a model without a price', async () => {
    const { admit } = setUp();
    expect((await admit(null)).reservation.charges).toBeNull();
    expect((await admit(null, { id: 'unpriced' })).reservation.charges).toBeNull();
  });

  it('that is not set costs no further call until another replica may have set it', async () => {
    const { kept, admit, watch } = setUp();
    watch.state = 'current';
    for (let times = 0; times < 3; times += 1) {
      await admit(null);
      await sleep(600);
    }
    expect(kept.asks).toHaveLength(1);
    kept.budget = usd(2);
    for (const state of ['changed', 'current'] as const) {
      watch.state = state;
      await expect(admit(null, { millions: 2 })).rejects.toMatchObject({ param: 'policy:session-budget' });
    }
  });

  it('that is not set is set by a request with an amount', async () => {
    const { admit, watch } = setUp();
    watch.state = 'current';
    await admit(null);
    (await admit(usd(2))).release();
    await expect(admit(null, { millions: 2 })).rejects.toMatchObject({ param: 'policy:session-budget' });
  });

  it.each([true, false])('that is set admits no model without a price: known here %s', async (isKnown) => {
    const { kept, admit } = setUp();
    if (isKnown) (await admit(usd(2))).release();
    else kept.budget = usd(2);
    await expect(admit(null, { id: 'unpriced' })).rejects.toMatchObject({ code: 'model_unpriced' });
  });

  it('is refused by a tenant service that does not know it', async () => {
    const { kept, admit } = setUp();
    kept.isOld = true;
    await expect(admit(usd(2))).rejects.toMatchObject({ code: 'service_unavailable' });
  });
});
