import { afterEach, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { Resource, type Ask, type Grant } from '@gatehouse/proto/tenant/v1/tenant';
import { Admission } from './admission.ts';
import { TenantLimits } from './tenant-limits.ts';

const budget = 1_000n;

const all: TenantLimits[] = [];
afterEach(async () => {
  await Promise.all(all.splice(0).map((limits) => limits.stop()));
});

/** A budget with nothing left, and the calls for leases of it. */
function setUp({ spent, validForMs = 60_000n }: { spent: bigint; validForMs?: bigint }) {
  const calls: Ask[][] = [];
  const lease = (asks: Ask[]): Promise<Grant[]> => {
    calls.push(asks);
    return Promise.resolve(
      asks.map(() => ({
        ...{ limit: budget, windowStart: 0n, granted: 0n, remaining: 0n, spent },
        ...{ resetsInMs: 9_000n, validForMs },
      })),
    );
  };
  const limits = new TenantLimits(lease, 'here', { waitMs: 1 });
  all.push(limits);
  const admit = (amount: bigint, lowered?: bigint): Promise<unknown> => {
    const limit = limits.limit('tenant', Resource.BUDGET);
    const cheaper = lowered === undefined ? null : [{ limit, amount: lowered }];
    return limits.admit(new Admission(), {
      needs: [{ limit, amount }],
      lowered: (left) => (lowered !== undefined && left(limit) >= lowered ? cheaper : null),
    });
  };
  return { calls, admit };
}

const refused = { code: 'insufficient_quota' };

describe('a budget that is spent', () => {
  it('refuses request after request by one call', async () => {
    const { calls, admit } = setUp({ spent: budget });
    for (let request = 0; request < 5; request += 1) await expect(admit(1n)).rejects.toMatchObject(refused);
    expect(calls).toHaveLength(1);
  });

  it('refuses so what it has too little left for', async () => {
    const { calls, admit } = setUp({ spent: 900n });
    await expect(admit(101n)).rejects.toMatchObject(refused);
    await expect(admit(101n)).rejects.toMatchObject(refused);
    expect(calls).toHaveLength(1);
    // This fits once what others have reserved is free.
    await expect(admit(100n)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    expect(calls.length).toBeGreaterThan(1);
  });

  it('is asked again for a request that may be cheaper', async () => {
    const { calls, admit } = setUp({ spent: 900n });
    await expect(admit(101n)).rejects.toMatchObject(refused);
    await expect(admit(101n, 50n)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    expect(calls.length).toBeGreaterThan(1);
  });

  it('is asked again when the grant has lapsed', async () => {
    const { calls, admit } = setUp({ spent: budget, validForMs: 200n });
    await expect(admit(1n)).rejects.toMatchObject(refused);
    await sleep(250);
    await expect(admit(1n)).rejects.toMatchObject(refused);
    expect(calls.length).toBeGreaterThan(1);
  });
});
