import { describe, expect, it } from '@jest/globals';
import { TransactionAge } from './transaction-age.ts';

describe('the age of the oldest transaction', () => {
  it('is nothing while none runs, however many there were', () => {
    const age = new TransactionAge();
    expect([0, 5, 10].map((at) => age.see({ oldest: BigInt(at), next: BigInt(at) }, at))).toEqual([0, 0, 0]);
  });

  it('counts from the first sight of a later one, and passes on to the next oldest', () => {
    const age = new TransactionAge();
    expect(age.see({ oldest: 7n, next: 7n }, 0)).toBe(0);
    expect(age.see({ oldest: 7n, next: 9n }, 5)).toBe(0);
    expect(age.see({ oldest: 7n, next: 12n }, 10)).toBe(5);
    expect(age.see({ oldest: 7n, next: 20n }, 15)).toBe(10);
    // 7 has ended, and 11 was already running at 10.
    expect(age.see({ oldest: 11n, next: 21n }, 20)).toBe(10);
    expect(age.see({ oldest: 30n, next: 30n }, 25)).toBe(0);
  });

  it('begins anew when another cluster answers', () => {
    const age = new TransactionAge();
    age.see({ oldest: 900n, next: 1_000n }, 0);
    expect(age.see({ oldest: 5n, next: 6n }, 5)).toBe(0);
    expect(age.see({ oldest: 5n, next: 7n }, 10)).toBe(5);
  });

  it('stays right over days of one stuck transaction', () => {
    const age = new TransactionAge();
    let lag = 0;
    for (let at = 0; at <= 50_000; at += 1) lag = age.see({ oldest: 1n, next: BigInt(at + 2) }, at);
    expect(lag).toBe(50_000);
  });
});
