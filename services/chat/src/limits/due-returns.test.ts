import { describe, expect, it } from '@jest/globals';
import { DueReturns } from './due-returns.ts';

interface Due {
  name: string;
  returnAt: number;
}

const limitOf = (name: string, returnAt: number): Due => ({ name, returnAt });

function returnsOf(...limits: Due[]): DueReturns<Due> {
  const returns = new DueReturns<Due>();
  for (const limit of limits) returns.add(limit);
  return returns;
}

const names = (limits: readonly Due[]): string[] => limits.map(({ name }) => name);

describe('limits with something to return', () => {
  it('are taken at their time, those due longest first, each once', () => {
    const returns = returnsOf(limitOf('late', 1_950), limitOf('soon', 950), limitOf('now', -Infinity));
    expect(returns.nextAt).toBe(-Infinity);
    expect(names(returns.take(1_000, 10))).toEqual(['now', 'soon']);
    expect(returns.nextAt).toBe(2_000);
    expect(names(returns.take(1_000, 10))).toEqual([]);
    expect(names(returns.take(Infinity, 10))).toEqual(['late']);
    expect(returns.nextAt).toBe(Infinity);
  });

  it('are at most as many as asked for; the others stay', () => {
    const returns = returnsOf(...['a', 'b', 'c'].map((name) => limitOf(name, 100)));
    expect(names(returns.take(100, 2))).toEqual(['a', 'b']);
    expect(returns.nextAt).toBe(100);
    expect(names(returns.take(100, 2))).toEqual(['c']);
  });

  it('come earlier when added again, and later when their time has moved', () => {
    const [earlier, later] = [limitOf('earlier', 5_000), limitOf('later', 500)];
    const returns = returnsOf(earlier, later);
    earlier.returnAt = -Infinity;
    returns.add(earlier);
    later.returnAt = 3_000;
    expect(names(returns.take(500, 10))).toEqual(['earlier']);
    expect(returns.nextAt).toBe(3_000);
    expect(names(returns.take(3_000, 10))).toEqual(['later']);
  });

  it('are forgotten when nothing is left to return', () => {
    const limit = limitOf('gone', 500);
    const returns = returnsOf(limit, limitOf('never', Infinity));
    limit.returnAt = Infinity;
    expect(names(returns.take(Infinity, 10))).toEqual([]);
    expect(returns.nextAt).toBe(Infinity);
  });

  it('are not looked at before their time', () => {
    let looks = 0;
    const returns = new DueReturns<{ readonly returnAt: number }>();
    const limit = {
      get returnAt() {
        looks += 1;
        return 9_000;
      },
    };
    returns.add(limit);
    looks = 0;
    returns.take(8_000, 10);
    expect([returns.nextAt, looks]).toEqual([9_000, 0]);
  });
});
