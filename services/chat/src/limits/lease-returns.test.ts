import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Resource, type Ask, type Grant } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { smallLimit } from '../bounds.ts';
import { Admission } from './admission.ts';
import { ReturnCalls } from './return-calls.ts';
import { TenantLimits } from './tenant-limits.ts';

const counters = 2_500;
let calls: Ask[][] = [];
let fails = false;
let limit = 1n;
let validForMs = 2_000n;

const lease = (asks: Ask[]): Promise<Grant[]> => {
  calls.push(asks);
  if (fails) return Promise.reject(new Error('away'));
  return Promise.resolve(
    asks.map(({ holding, needs }) => ({
      ...{ limit, windowStart: 0n, granted: needs.reduce((sum, need) => sum + need, 0n) },
      ...{ remaining: limit - holding, resetsInMs: 9_000n, validForMs },
    })),
  );
};

let limits: TenantLimits;
afterEach(async () => {
  fails = false;
  await limits.stop();
  [limit, validForMs] = [1n, 2_000n];
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

  describe('beside returns of other tenants', () => {
    const admission = new Admission();
    const slotOf = (name: string): Promise<unknown> => {
      const needs = [{ limit: limits.limit(name, Resource.CONCURRENCY), amount: 1n }];
      return limits.admit(admission, { needs });
    };

    /** The first slot has been taken and is free again, while another tenant's returns are under way. */
    async function setUp() {
      const { promise: others, resolve: endOthers } = Promise.withResolvers<undefined>();
      const returnCalls = new ReturnCalls();
      returnCalls.add(() => others);
      const add = jest.spyOn(returnCalls, 'add');
      limits = new TenantLimits(lease, 'here', { returnCalls });
      await slotOf('first');
      calls = [];
      admission.release();
      return { add, endOthers };
    }

    it('are returned after these, and requests do not wait', async () => {
      [limit, validForMs] = [smallLimit + 1n, 500n];
      const { add, endOthers } = await setUp();
      await eventually(() => expect(add).toHaveBeenCalledTimes(1));
      await slotOf('second');
      expect(returned()).toEqual(new Set(['second']));
      endOthers(undefined);
      await eventually(() => expect(returned()).toContain('first'));
    });

    it('are returned at once where the limit is small', async () => {
      const { add, endOthers } = await setUp();
      await eventually(() => expect(returned()).toContain('first'));
      expect(add).not.toHaveBeenCalled();
      endOthers(undefined);
    });
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
