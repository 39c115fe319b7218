import { describe, expect, it } from '@jest/globals';
import { periodOf, previousOf } from './period.ts';

const now = new Date('2026-03-01T12:00:00Z');

describe('the period of a summary', () => {
  it('is the last day unless said otherwise', () => {
    expect(periodOf({}, now)).toEqual({ from: new Date('2026-02-28T12:00:00Z'), to: now });
    expect(periodOf({ to: '2026-01-02T00:00:00Z' }, now).from).toEqual(new Date('2026-01-01T00:00:00Z'));
  });

  it.each([
    [{ from: '2026-03-01T12:00:00Z' }],
    [{ from: '2026-02-02T00:00:00Z', to: '2026-02-01T00:00:00Z' }],
    [{ from: '2025-01-24T11:59:59Z', to: '2026-03-01T12:00:00Z' }],
  ])('cannot be %j', (query) => {
    expect(() => periodOf(query, now)).toThrow(
      expect.objectContaining({ code: 'invalid_value', param: 'from' }),
    );
  });

  it('may be 400 days', () => {
    expect(periodOf({ from: '2025-01-25T12:00:00Z' }, now).to).toEqual(now);
  });

  it('comes after one of the same length', () => {
    const period = { from: new Date('2026-03-01T00:00:00Z'), to: new Date('2026-03-03T06:00:00Z') };
    expect(previousOf(period)).toEqual({ from: new Date('2026-02-26T18:00:00Z'), to: period.from });
  });
});
