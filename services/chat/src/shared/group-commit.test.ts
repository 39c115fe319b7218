import { describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { eventually } from '@gatehouse/test/eventually';
import { GroupCommit, type GroupCommitOptions } from './group-commit.ts';

const outage = new Error('away');

/** A database that refuses negative numbers and may be away. */
class Numbers {
  readonly groups: number[][] = [];
  away = false;
  pauseMs = 0;
  commits = 0;

  async commit(items: readonly number[]): Promise<void> {
    this.commits += 1;
    if (this.pauseMs > 0) await sleep(this.pauseMs);
    if (this.away) throw outage;
    if (items.some((item) => item < 0)) throw new Error('refused');
    this.groups.push([...items]);
  }
}

function make(options: Partial<GroupCommitOptions<number>> = {}): {
  numbers: Numbers;
  commits: GroupCommit<number>;
} {
  const numbers = new Numbers();
  const commits = new GroupCommit<number>({
    commit: (items) => numbers.commit(items),
    isOutage: (error) => error === outage,
    maxItems: 3,
    ...options,
  });
  return { numbers, commits };
}

const fate = (promise: Promise<void>): Promise<string> =>
  promise.then(
    () => 'committed',
    (error: unknown) => (error as Error).message,
  );

describe('GroupCommit', () => {
  it('commits what came together in groups of limited size, in order', async () => {
    const { numbers, commits } = make();
    await Promise.all([1, 2, 3, 4].map((item) => commits.submit(item)));
    expect(numbers.groups).toEqual([[1, 2, 3], [4]]);
  });

  it('sends the next group before it lets go of one', async () => {
    const { numbers, commits } = make({ maxItems: 1 });
    const begun = [1, 2].map((item) => commits.submit(item).then(() => numbers.commits));
    expect(await Promise.all(begun)).toEqual([2, 2]);
  });

  it('lets one bad item harm no other', async () => {
    const { commits } = make();
    expect(await Promise.all([1, -2, 3].map((item) => fate(commits.submit(item))))).toEqual([
      'committed',
      'refused',
      'committed',
    ]);
  });

  it('lets no item wait for a second timeout in an outage', async () => {
    const { numbers, commits } = make();
    numbers.away = true;
    numbers.pauseMs = 50;
    const first = fate(commits.submit(1));
    await sleep(20);
    expect(await Promise.all([first, fate(commits.submit(2))])).toEqual(['away', 'away']);
    expect(numbers.commits).toBe(1);
    numbers.away = false;
    expect(await fate(commits.submit(3))).toBe('committed');
  });

  describe('that keeps items through an outage', () => {
    const waits: number[] = [];
    const retry = {
      everyMs: 20,
      maxWaiting: 3,
      onOutage: (_error: unknown, waiting: number) => waits.push(waiting),
    };

    it('commits them in order when it is over, and refuses what would be too many', async () => {
      const { numbers, commits } = make({ retry });
      numbers.away = true;
      const fates = [1, 2, 3, 4].map((item) => fate(commits.submit(item)));
      expect(await fates[3]).toMatch(/3 items wait/);
      await eventually(() => expect(waits.length).toBeGreaterThan(1));
      expect(new Set(waits)).toEqual(new Set([3]));
      numbers.away = false;
      expect(await Promise.all(fates.slice(0, 3))).toEqual(['committed', 'committed', 'committed']);
      expect(numbers.groups).toEqual([[1, 2, 3]]);
    });

    it('tries once more when it stops, and then lets go of them', async () => {
      const { numbers, commits } = make({ retry: { ...retry, everyMs: 60_000 } });
      numbers.away = true;
      const lost = fate(commits.submit(1));
      await sleep(20);
      await commits.stop();
      expect(await lost).toBe('away');
    });
  });
});
