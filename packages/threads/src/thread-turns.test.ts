import { describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { ThreadTurns } from './thread-turns.ts';

describe('turns on threads', () => {
  it('are one for each tenant at a time, in order among tenants, and refused beyond a number', async () => {
    const turns = new ThreadTurns({ threads: 2, maxWaiting: 3 });
    const done: string[] = [];
    const gates = new Map<string, () => void>();
    const start = (name: string) =>
      turns.run(name.charAt(0), async () => {
        await new Promise<void>((resolve) => gates.set(name, resolve));
        done.push(name);
      });
    const all = ['a1', 'a2', 'a3', 'b1'].map(start);
    await sleep(5);
    expect([...gates.keys()]).toEqual(['a1', 'b1']);
    all.push(start('c1'));
    await expect(turns.run('d', () => Promise.resolve())).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    for (const name of ['b1', 'a1', 'c1', 'a2', 'a3']) {
      await sleep(5);
      gates.get(name)?.();
    }
    await Promise.all(all);
    expect(done).toEqual(['b1', 'a1', 'c1', 'a2', 'a3']);
  });

  it('are refused to a tenant that has enough work waiting, and to no other', async () => {
    const turns = new ThreadTurns({ threads: 1, maxWaiting: 10, maxWaitingPerTenant: 2 });
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const work = () => promise;
    const all = [turns.run('a', work), turns.run('a', work), turns.run('a', work)];
    await expect(turns.run('a', work)).rejects.toMatchObject({ code: 'service_unavailable' });
    all.push(turns.run('b', work));
    resolve(undefined);
    await Promise.all(all);
  });
});
