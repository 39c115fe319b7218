import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { divide, kindFor, type SettledKind } from './period-parts.ts';
import type { SummaryRequest } from './summary.ts';

const quarterMs = 900_000;
const dayMs = 96 * quarterMs;
const at = (ms: number): Date => new Date(ms);

describe('the parts of a period', () => {
  it('are the period, and those of settled days are whole hours or days without a cut', () => {
    const input = fc.record({
      edges: fc.tuple(fc.nat(96 * 12), fc.nat(96 * 12)),
      kind: fc.constantFrom<SettledKind>('hour', 'agent', 'user'),
      days: fc.uniqueArray(fc.nat(12), { maxLength: 12 }),
      cutOfDays: fc.option(fc.integer({ min: 1, max: 95 })),
      cuts: fc.uniqueArray(fc.nat(96 * 13), { maxLength: 8 }),
    });
    fc.assert(
      fc.property(input, ({ edges, kind, days, cutOfDays, cuts }) => {
        const [from = 0, to = 0] = edges.toSorted((a, b) => a - b).map((edge) => edge * quarterMs);
        const known = {
          days: days
            .toSorted((a, b) => a - b)
            .map((day) => ({
              day: at(day * dayMs),
              cut: cutOfDays === null ? null : at(day * dayMs + cutOfDays * quarterMs),
            })),
          cuts: cuts.map((cut) => at(cut * quarterMs)),
        };
        const { settled, others } = divide({ from: at(from), to: at(to) }, kind, known);
        const quarters = (parts: readonly { from: Date; to: Date }[]): number[] =>
          parts.flatMap((part) => {
            const [first, end] = [Number(part.from) / quarterMs, Number(part.to) / quarterMs];
            expect(first).toBeLessThan(end);
            return Array.from({ length: end - first }, (_, index) => first + index);
          });
        const served = quarters(settled);
        const all = Array.from({ length: (to - from) / quarterMs }, (_, index) => from / quarterMs + index);
        expect([...served, ...quarters(others)].toSorted((a, b) => a - b)).toEqual(all);
        // The rows of a day in which a quarter is: those of its hour, or of the day before or after its cut.
        const rowsOf = (quarter: number): [number, number] => {
          const start = Math.floor(quarter / 96) * 96;
          if (kind === 'hour') return [Math.floor(quarter / 4) * 4, Math.floor(quarter / 4) * 4 + 4];
          if (cutOfDays === null) return [start, start + 96];
          return quarter < start + cutOfDays ? [start, start + cutOfDays] : [start + cutOfDays, start + 96];
        };
        const isServed = (quarter: number): boolean => {
          const [first, end] = rowsOf(quarter);
          return (
            days.includes(Math.floor(quarter / 96)) &&
            first * quarterMs >= from &&
            end * quarterMs <= to &&
            cuts.every((cut) => cut <= first || cut >= end)
          );
        };
        expect(served).toEqual(all.filter(isServed));
      }),
    );
  });

  it('are read from the smallest rows that have what groups and filters need', () => {
    const filter = {
      ...{ agentId: null, model: null, provider: null, channel: null, dialect: null, user: null },
      apiKeyId: null,
      group: null,
    };
    const kind = (request: Partial<SummaryRequest>, filters: Partial<SummaryRequest['filter']> = {}) =>
      kindFor({
        period: { from: at(0), to: at(1) },
        groupBy: [],
        timezone: 'UTC',
        ...request,
        filter: { ...filter, ...filters },
      });
    expect(kind({})).toBe('hour');
    expect(kind({ groupBy: ['hour', 'client'] }, { model: 'small' })).toBe('hour');
    expect(kind({ groupBy: ['agent', 'day'] }, { provider: 'acme' })).toBe('agent');
    expect(kind({ groupBy: ['model'] }, { agentId: 'a' })).toBe('agent');
    expect(kind({ groupBy: ['agent', 'hour'] })).toBe(null);
    expect(kind({ groupBy: ['user', 'month'] })).toBe('user');
    expect(kind({ groupBy: ['user', 'model'] })).toBe(null);
    expect(kind({ groupBy: ['user'] }, { user: 'ann' })).toBe(null);
    expect(kind({ groupBy: ['api_key'] })).toBe(null);
    expect(kind({ groupBy: ['api_key'], figures: 'costs' }, { dialect: 'chat' })).toBe('api_key');
    expect(kind({ groupBy: ['api_key', 'agent'], figures: 'costs' })).toBe(null);
    expect(kind({ groupBy: ['session'] })).toBe('session');
    expect(kind({ groupBy: ['session', 'month', 'user'] })).toBe('session');
    expect(kind({ groupBy: ['session', 'agent'] })).toBe(null);
    expect(kind({ groupBy: ['group', 'day', 'user'] }, { model: 'small' })).toBe('group');
    expect(kind({ groupBy: ['client'] }, { group: 'Ops' })).toBe('group');
    expect(kind({ groupBy: ['group', 'agent'] })).toBe(null);
  });
});
