import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SettledTime } from './settled-time.ts';

const reading = (at: number, nextTransaction: number, oldestRunning: number) => ({
  at: new Date(at),
  nextTransaction: BigInt(nextTransaction),
  oldestRunning: BigInt(oldestRunning),
});

describe('the time up to which everything is visible', () => {
  it('is an earlier reading whose transactions are over', () => {
    const settled = new SettledTime();
    expect(settled.take(reading(1, 10, 10))).toBeNull();
    expect(settled.take(reading(2, 12, 10))).toEqual(new Date(1));
    expect(settled.take(reading(3, 15, 11))).toBeNull();
    expect(settled.take(reading(4, 15, 12))).toEqual(new Date(2));
  });

  it('never passes the time that a running transaction may still write', () => {
    // Transactions take their id when they begin to write, write a time from then on, and end in any order.
    const step = fc.record({
      begin: fc.boolean(),
      end: fc.option(fc.nat(5), { nil: undefined }),
      read: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const settled = new SettledTime();
        const running: { id: number; wrote: number }[] = [];
        let next = 1;
        steps.forEach(({ begin, end, read }, now) => {
          if (begin) {
            running.push({ id: next, wrote: now });
            next += 1;
          }
          if (end !== undefined) running.splice(end, 1);
          if (!read) return;
          const oldest = Math.min(next, ...running.map(({ id }) => id));
          const at = settled.take(reading(now, next, oldest));
          if (at !== null)
            for (const { wrote } of running) expect(wrote).toBeGreaterThanOrEqual(at.getTime());
        });
      }),
    );
  });
});
