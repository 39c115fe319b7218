import { expect, it } from '@jest/globals';
import { monotonicMs } from '@gatehouse/kit/clock';
import { CallShares } from './call-shares.ts';

const never = new AbortController().signal;

it('lets a call beyond the share of its tenant wait for another one of the tenant, and no other tenant', async () => {
  const shares = new CallShares({ all: 4, tenant: 3, origin: 3, tenantAtOrigin: 2 });
  const [end] = await Promise.all([
    shares.hold('a', 'https://x', never),
    shares.hold('a', 'https://x', never),
  ]);
  const waiting = shares.hold('a', 'https://x', never);
  (await shares.hold('b', 'https://x', never))();
  await shares.hold('a', 'https://y', never);
  expect([shares.running, shares.waiting]).toEqual([3, 1]);
  const late = await Promise.allSettled([waiting, shares.hold('a', 'https://z', never)]);
  for (const { status } of late) expect(status).toBe('rejected');
  end();
  await shares.hold('a', 'https://x', never);
  expect([shares.running, shares.waiting]).toEqual([3, 0]);
});

it('lets a tenant that waits for its own calls occupy no host that others use', async () => {
  const shares = new CallShares({ all: 10, tenant: 1, origin: 2, tenantAtOrigin: 2 });
  const end = await shares.hold('a', 'https://x', never);
  const waiting = [shares.hold('a', 'https://y', never), shares.hold('a', 'https://y', never)];
  const others = await Promise.all([
    shares.hold('b', 'https://y', never),
    shares.hold('c', 'https://y', never),
  ]);
  expect([shares.running, shares.waiting]).toEqual([3, 2]);
  for (const endOther of others) endOther();
  end();
  (await waiting[0])?.();
  (await waiting[1])?.();
});

it('lets a call wait for two seconds in all, whatever it waits for', async () => {
  const shares = new CallShares({ all: 1, tenant: 2, origin: 2, tenantAtOrigin: 1 });
  const end = await shares.hold('a', 'https://x', never);
  const other = shares.hold('b', 'https://y', never);
  const began = monotonicMs();
  const late = shares.hold('a', 'https://x', never);
  // Then it has its share, but the other tenant has the only call.
  setTimeout(end, 1_800);
  await expect(late).rejects.toMatchObject({ failure: 'busy' });
  expect(monotonicMs() - began).toBeLessThan(3_500);
  (await other)();
});

it('lets tenants take turns where all calls are taken', async () => {
  const shares = new CallShares({ all: 1, tenant: 1, origin: 1, tenantAtOrigin: 1 });
  const order: string[] = [];
  const call = async (tenantId: string): Promise<void> => {
    const end = await shares.hold(tenantId, 'https://x', never);
    order.push(tenantId);
    setTimeout(end, 5);
  };
  await Promise.all([...Array.from({ length: 20 }, () => call('a')), call('b')]);
  expect(order.indexOf('b')).toBeLessThan(5);
});

it('gives up a place in the line when the caller has gone', async () => {
  const shares = new CallShares({ all: 1, tenant: 1, origin: 1, tenantAtOrigin: 1 });
  const end = await shares.hold('a', 'https://x', never);
  const caller = new AbortController();
  const waiting = shares.hold('a', 'https://x', caller.signal);
  caller.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  end();
  await shares.hold('b', 'https://x', never);
  expect([shares.running, shares.waiting]).toEqual([1, 0]);
});
