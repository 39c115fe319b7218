import { afterEach, describe, expect, it } from '@jest/globals';
import { Resource, type Ask, type Grant } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { Admission } from './admission.ts';
import { TenantLimits } from './tenant-limits.ts';

const counters = 2_500;
let calls: Ask[][] = [];
let fails = false;

const lease = (asks: Ask[]): Promise<Grant[]> => {
  calls.push(asks);
  if (fails) return Promise.reject(new Error('away'));
  return Promise.resolve(
    asks.map(({ holding, needs }) => ({
      ...{ limit: 1n, windowStart: 0n, granted: needs.reduce((sum, need) => sum + need, 0n) },
      ...{ remaining: 1n - holding, resetsInMs: 9_000n, validForMs: 2_000n },
    })),
  );
};

let limits: TenantLimits;
afterEach(async () => {
  fails = false;
  await limits.stop();
});

/** One request with a slot of each of many counters. */
async function heldSlots(): Promise<Admission> {
  limits = new TenantLimits(lease, 'here');
  const admission = new Admission();
  const needs = Array.from({ length: counters }, (_, index) => ({
    limit: limits.limit(`counter ${index}`, Resource.CONCURRENCY),
    amount: 1n,
  }));
  await limits.admit(admission, { needs });
  calls = [];
  return admission;
}

const sizes = (): number[] => calls.map((asks) => asks.length);
const returned = (): Set<string> => new Set(calls.flat().map(({ subjectId }) => subjectId));

describe('leases of many counters', () => {
  it('are returned in calls of a bounded size', async () => {
    const admission = await heldSlots();
    admission.release();
    await eventually(() => expect(returned().size).toBe(counters));
    expect(Math.max(...sizes())).toBe(1_000);
  });

  it('are all returned at the end, likewise', async () => {
    const admission = await heldSlots();
    const stopped = limits.stop();
    admission.release();
    await stopped;
    await limits.stop();
    expect(returned().size).toBe(counters);
    expect(sizes()).toEqual([1_000, 1_000, 500]);
  });

  it('are not returned at the end once a call fails', async () => {
    const admission = await heldSlots();
    fails = true;
    await limits.stop();
    admission.release();
    await limits.stop();
    expect(sizes()).toEqual([1_000]);
  });
});
