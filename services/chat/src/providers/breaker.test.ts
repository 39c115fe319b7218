import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Breaker, type Blame } from './breaker.ts';

let now = 0;
let breaker: Breaker;
beforeEach(() => {
  now = 1_000_000;
  breaker = new Breaker(() => now);
});

const callOf = (tenantId: string, operation = 'chat') => ({ operation, tenantId });

function fail(tenantId: string, times: number, blame: Blame = 'tenant'): void {
  for (let time = 0; time < times; time += 1) breaker.failed(callOf(tenantId), blame);
}

/** How many of so many calls of a tenant are admitted. */
function admitted(tenantId: string, calls: number): number {
  return Array.from({ length: calls }, () => breaker.admits(callOf(tenantId))).filter(Boolean).length;
}

describe('failures that a request can cause', () => {
  it('open the circuit of their tenant alone', () => {
    fail('a', 100);
    expect([breaker.isOpenFor(callOf('a')), breaker.isOpenFor(callOf('b')), breaker.isOpen]).toEqual([
      true,
      false,
      false,
    ]);
    expect(breaker.openTenants).toBe(1);
    expect(admitted('b', 1_000)).toBe(1_000);
  });

  it('of two requests with their retries open nothing', () => {
    fail('a', 6);
    expect(breaker.isOpenFor(callOf('a'))).toBe(false);
  });

  it('open it at half of at least ten calls', () => {
    fail('a', 1);
    for (let call = 0; call < 9; call += 1) breaker.succeeded(callOf('a'));
    fail('a', 7);
    expect(breaker.isOpenFor(callOf('a'))).toBe(false);
    fail('a', 1);
    expect(breaker.isOpenFor(callOf('a'))).toBe(true);
  });

  it('count for half a minute', () => {
    fail('a', 9);
    now += 30_000;
    fail('a', 9);
    expect(breaker.isOpenFor(callOf('a'))).toBe(false);
    now += 20_000;
    fail('a', 1);
    expect(breaker.isOpenFor(callOf('a'))).toBe(true);
  });

  it('open it for all tenants when three tenants see them within half a minute', () => {
    fail('a', 10);
    now += 10_000;
    fail('b', 10);
    expect(breaker.isOpenFor(callOf('c'))).toBe(false);
    now += 10_000;
    fail('c', 10);
    expect([breaker.isOpen, breaker.isOpenFor(callOf('d'))]).toEqual([true, true]);
  });

  it('of three tenants at different times leave the others alone', () => {
    for (const tenant of ['a', 'b', 'c', 'd']) {
      fail(tenant, 10);
      now += 15_001;
    }
    expect(breaker.isOpen).toBe(false);
  });

  it('are remembered of a bounded number of tenants', () => {
    fail('first', 10);
    for (let tenant = 0; tenant < 1_000; tenant += 1) {
      now += 31_000;
      fail(`tenant-${tenant}`, 10);
    }
    expect(breaker.isOpenFor(callOf('first'))).toBe(false);
    expect(breaker.openTenants).toBe(1_000);
  });
});

describe('failures that no request can cause', () => {
  it('open the circuit for all tenants', () => {
    fail('a', 10, 'all');
    expect([breaker.isOpen, breaker.isOpenFor(callOf('b'))]).toEqual([true, true]);
  });

  it('open nothing while most calls end well', () => {
    for (let call = 0; call < 20; call += 1) {
      breaker.failed(callOf('a'), 'all');
      breaker.succeeded(callOf('b'));
      breaker.succeeded(callOf('c'));
    }
    expect(breaker.isOpen).toBe(false);
  });
});

it('opens for the operation that fails alone', () => {
  for (const blame of ['tenant', 'all'] as const) {
    fail('a', 10, blame);
    expect(breaker.isOpenFor(callOf('a'))).toBe(true);
    expect(breaker.isOpenFor(callOf('a', 'embeddings'))).toBe(false);
    expect([breaker.isOpen, breaker.openTenants]).toEqual(blame === 'all' ? [true, 0] : [false, 1]);
    breaker.answered(callOf('a', 'embeddings'));
    expect(breaker.isOpenFor(callOf('a'))).toBe(true);
  }
});

describe('an open circuit', () => {
  it('admits one call in twenty as a probe, however long the others take', () => {
    fail('a', 10, 'all');
    expect(admitted('b', 200)).toBe(10);
  });

  it('admits one call every five seconds where there are few', () => {
    fail('a', 10, 'all');
    now += 4_999;
    expect(breaker.admits(callOf('b'))).toBe(false);
    now += 1;
    expect([breaker.admits(callOf('b')), breaker.admits(callOf('b'))]).toEqual([true, false]);
    now += 5_000;
    expect(breaker.admits(callOf('c'))).toBe(true);
  });

  it('closes for all tenants at the first good byte of any call', () => {
    fail('a', 10, 'all');
    breaker.answered(callOf('b'));
    expect([breaker.isOpen, breaker.isOpenFor(callOf('a'))]).toEqual([false, false]);
    fail('a', 9, 'all');
    expect(breaker.isOpen).toBe(false);
  });

  it('of a tenant closes at a good byte of that tenant’s calls, not of another’s', () => {
    fail('a', 10);
    breaker.answered(callOf('b'));
    expect(breaker.isOpenFor(callOf('a'))).toBe(true);
    breaker.answered(callOf('a'));
    expect(breaker.isOpenFor(callOf('a'))).toBe(false);
  });

  it('stays open while its probes fail', () => {
    fail('a', 10);
    for (let probe = 0; probe < 100; probe += 1) {
      now += 5_000;
      expect(breaker.admits(callOf('a'))).toBe(true);
      fail('a', 1);
      expect(breaker.isOpenFor(callOf('a'))).toBe(true);
    }
  });
});

it('is never opened for a tenant by what one or two others do', () => {
  const action = fc.record({
    tenant: fc.constantFrom('a', 'b'),
    what: fc.constantFrom('failed', 'answered', 'succeeded', 'admits'),
    ms: fc.nat(10_000),
  });
  fc.assert(
    fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
      breaker = new Breaker(() => now);
      for (const { tenant, what, ms } of actions) {
        now += ms;
        if (what === 'failed') breaker.failed(callOf(tenant), 'tenant');
        else breaker[what](callOf(tenant));
        expect(breaker.admits(callOf('c'))).toBe(true);
      }
    }),
  );
});
