import { afterEach, describe, expect, it } from '@jest/globals';
import { ChangeWatch, type ListedChanges } from './change-watch.ts';
import { monotonicMs, sleep } from './clock.ts';

let watch: ChangeWatch | undefined;
afterEach(() => watch?.stop());

const everyMs = 5;

/** A watch of a source that the test plays. */
class Source {
  readonly positions: string[] = [];
  answer: Partial<ListedChanges> | Error = { startsOver: true };

  begin(): ChangeWatch {
    watch = new ChangeWatch({
      everyMs,
      list: async (position) => {
        this.positions.push(position);
        if (this.answer instanceof Error) throw this.answer;
        const changes = { position: String(this.positions.length), startsOver: false, subjects: [] };
        return { ...changes, ...this.answer };
      },
    });
    watch.stateOf([], 0);
    watch.start();
    return watch;
  }

  /** Resolves after another answer, with the position that it follows. */
  async heard(answer: Partial<ListedChanges> | Error): Promise<string | undefined> {
    const before = this.positions.length;
    this.answer = answer;
    while (this.positions.length === before) await sleep(1);
    await sleep(0);
    this.answer = {};
    return this.positions[before];
  }
}

describe('a watch of changes', () => {
  it('takes values for current that were loaded since it began', async () => {
    const source = new Source();
    const early = monotonicMs();
    const changes = source.begin();
    expect(changes.stateOf(['a'], early)).toBe('unknown');
    await source.heard({ startsOver: true });
    expect(changes.stateOf(['a'], early)).toBe('unknown');
    expect(changes.stateOf(['a'], monotonicMs())).toBe('current');
    await source.heard({});
    expect(source.positions.slice(0, 2)).toEqual(['', '1']);
  });

  it('reports a change to values whose loading began before, and to no other', async () => {
    const source = new Source();
    const changes = source.begin();
    await source.heard({ startsOver: true });
    const before = monotonicMs();
    await source.heard({ subjects: ['a'] });
    expect(changes.stateOf(['a', 'b'], before)).toBe('changed');
    expect(changes.stateOf(['b'], before)).toBe('current');
    expect(changes.stateOf(['a'], monotonicMs())).toBe('current');
  });

  it('knows nothing of earlier values when changes may be missing, or are too many to remember', async () => {
    const source = new Source();
    const changes = source.begin();
    await source.heard({ startsOver: true });
    const lost = [
      { startsOver: true },
      { subjects: Array.from({ length: 10_001 }, (_, index) => `thing ${index}`) },
    ];
    for (const answer of lost) {
      const before = monotonicMs();
      expect(changes.stateOf(['a'], before)).toBe('current');
      await source.heard(answer);
      expect(changes.stateOf(['a'], before)).toBe('unknown');
    }
  });

  it('still knows the changes that it has heard of when others may be missing', async () => {
    const source = new Source();
    const changes = source.begin();
    await source.heard({ startsOver: true });
    const before = monotonicMs();
    await source.heard({ subjects: ['a'] });
    await source.heard({ startsOver: true });
    expect([changes.stateOf(['a'], before), changes.stateOf(['b'], before)]).toEqual(['changed', 'unknown']);
  });

  it('remembers the 10,000 newest changes, and knows nothing of values from before older ones', async () => {
    const source = new Source();
    const changes = source.begin();
    const things = (count: number, from = 0): string[] =>
      Array.from({ length: count }, (_, index) => `thing ${from + index}`);
    await source.heard({ startsOver: true });
    const first = monotonicMs();
    await source.heard({ subjects: things(9_000) });
    const second = monotonicMs();
    // With one that has changed before, which counts once.
    await source.heard({ subjects: [...things(1_000, 9_000), 'thing 8999'] });
    expect(changes.stateOf(['thing 0'], first)).toBe('changed');
    expect(changes.stateOf(['a'], first)).toBe('current');
    await source.heard({ subjects: ['thing 10000'] });
    expect(changes.stateOf(['thing 0'], first)).toBe('unknown');
    expect(changes.stateOf(['a'], first)).toBe('unknown');
    expect(changes.stateOf(['thing 8999', 'thing 10000'], second)).toBe('changed');
    expect(changes.stateOf(['thing 10000'], first)).toBe('changed');
    expect(changes.stateOf(['a', 'thing 0'], second)).toBe('current');
  });

  it('takes a holder for changed in place of more than 1,000 of its things, and spares others', async () => {
    const source = new Source();
    const changes = source.begin();
    await source.heard({ startsOver: true });
    const first = monotonicMs();
    const things = (count: number, from = 0): Partial<ListedChanges> => {
      const subjects = Array.from({ length: count }, (_, index) => `thing ${from + index}`);
      return { subjects, tenantIds: subjects.map(() => 'tenant') };
    };
    await source.heard(things(1_000));
    expect(changes.stateOf(['thing 999', 'tenant'], first)).toBe('changed');
    expect(changes.stateOf(['another', 'tenant'], first)).toBe('current');
    for (let from = 1_000; from < 30_000; from += 1_000) await source.heard(things(1_000, from));
    expect(changes.stateOf(['thing 0', 'tenant'], first)).toBe('changed');
    expect(changes.stateOf(['another', 'tenant'], first)).toBe('changed');
    // All of the 30,000 changes count.
    expect(changes.stateOf(['a', 'other tenant'], first)).toBe('current');
    const second = monotonicMs();
    expect(changes.stateOf(['another', 'tenant'], second)).toBe('current');
    await source.heard({ subjects: ['tenant'], tenantIds: ['tenant'] });
    expect(changes.stateOf(['another', 'tenant'], second)).toBe('changed');
  });

  it('takes nothing for current after 3.5 s of silence, and goes on where it was', async () => {
    const source = new Source();
    const changes = source.begin();
    await source.heard({ startsOver: true });
    const loadedAt = monotonicMs();
    await source.heard({});
    const position = source.positions.length;
    source.answer = new Error('away');
    while (changes.stateOf([], loadedAt) === 'current') await sleep(20);
    expect(monotonicMs() - loadedAt).toBeGreaterThan(3_500);
    expect(Number(await source.heard({ subjects: ['b'] }))).toBeLessThanOrEqual(position + 1);
    expect(changes.stateOf(['a'], loadedAt)).toBe('current');
    expect(changes.stateOf(['b'], loadedAt)).toBe('changed');
  });

  it('asks for nothing while nothing is used', async () => {
    const source = new Source();
    watch = new ChangeWatch({ everyMs, list: () => Promise.reject(new Error('asked')) });
    watch.start();
    await sleep(10 * everyMs);
    expect(source.positions).toEqual([]);
  });
});
