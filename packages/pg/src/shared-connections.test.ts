import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { Probe } from '../test/probe.ts';
import { createPool, waitingFor, withTenant, type Pool } from './pool.ts';
import { SharedConnections } from './shared-connections.ts';

const log = createLogger('test', 'silent');
let probe: Probe;
beforeAll(async () => {
  probe = await Probe.start();
});
afterAll(() => probe.stop());

const pools: Pool[] = [];
afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.end())));

/** Pools of three connections each, which together have `slots`. */
function share(slots: number, count: number): Pool[] {
  const shared = new SharedConnections(slots);
  for (let made = 0; made < count; made += 1)
    pools.push(createPool({ url: probe.url, role: 'probe_app', max: 3, shared, log }));
  return pools;
}

const openOf = (some: readonly Pool[]): number => some.reduce((sum, { totalCount }) => sum + totalCount, 0);

describe('pools that share connections', () => {
  it('never open more of them, whatever pools the work of many tenants needs', async () => {
    const sharing = share(4, 5);
    let highest = 0;
    const work = (round: number): Promise<unknown> => {
      const pool = sharing[round % sharing.length] as Pool;
      return withTenant(pool, newId(), async (db) => {
        await db.query('select pg_sleep(0.002)');
        highest = Math.max(highest, openOf(sharing));
      });
    };
    await Promise.all(Array.from({ length: 60 }, (_, round) => work(round)));
    expect(highest).toBe(4);
    expect(sharing.map(waitingFor)).toEqual([0, 0, 0, 0, 0]);
    const [{ open } = { open: 0 }] = await probe.asAdmin<{ open: number }>(
      `select count(*)::integer as open from pg_stat_activity where application_name = 'gatehouse probe_app'`,
    );
    expect(open).toBeLessThanOrEqual(4);
  });

  it('give one tenant half of them', async () => {
    const sharing = share(4, 3);
    const slow = newId();
    const gate = Promise.withResolvers<undefined>();
    const held = sharing.flatMap((pool) => [1, 2].map(() => withTenant(pool, slow, () => gate.promise)));
    for (const pool of sharing) await withTenant(pool, newId(), (db) => db.query('select 1'));
    expect(openOf(sharing)).toBeLessThanOrEqual(4);
    expect(sharing.reduce((sum, pool) => sum + waitingFor(pool), 0)).toBe(4);
    gate.resolve(undefined);
    await Promise.all(held);
  });

  it('return the turn of work that fails', async () => {
    const [pool] = share(1, 1) as [Pool];
    for (let round = 0; round < 3; round += 1)
      await expect(withTenant(pool, newId(), () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await withTenant(pool, newId(), () => Promise.resolve('next'))).toBe('next');
  });

  it('run no statement without a tenant', async () => {
    const [pool] = share(1, 1) as [Pool];
    await expect(pool.query('select 1')).rejects.toThrow('take turns');
  });
});
