import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { maxVersions, planRelations, type KnownVersion, type RelationInput } from './relation.ts';

const ends = { sourceId: 'a', targetId: 'b', type: 't' };
const now = 1_000;

function version(id: string, validFrom: number, validTo: number | null): KnownVersion {
  return { ...ends, id, validFrom, validTo };
}

function input(given: Partial<RelationInput> = {}): RelationInput {
  return {
    ...ends,
    weight: undefined,
    properties: undefined,
    validFrom: undefined,
    validTo: undefined,
    ...given,
  };
}

/** The versions after a plan, as `from-to`, the oldest first. */
function after(known: readonly KnownVersion[], ...inputs: RelationInput[]): string {
  const plan = planRelations(known, inputs, now);
  const changed = [...plan.inserted, ...plan.updated];
  const kept = known.filter(
    ({ id }) => !plan.removed.includes(id) && !changed.some((each) => each.id === id),
  );
  return [...kept, ...changed]
    .sort((one, other) => one.validFrom - other.validFrom)
    .map(({ validFrom, validTo }) => `${validFrom}-${validTo ?? ''}`)
    .join(' ');
}

describe('a relation', () => {
  it('is valid from now on', () => {
    expect(after([], input())).toBe('1000-');
    expect(after([], input({ validTo: 2_000 }))).toBe('1000-2000');
    expect(after([version('1', 100, 200)], input())).toBe('100-200 1000-');
  });

  it('replaces the one that is valid, and keeps what is omitted', () => {
    const plan = planRelations([version('1', 100, null)], [input({ weight: 2 })], now);
    expect(plan).toMatchObject({ inserted: [], replaced: 1, ids: ['1'] });
    expect(plan.updated).toEqual([
      { ...version('1', 100, null), weight: 2, properties: undefined, isReplaced: true },
    ]);
    expect(after([version('1', 100, 5_000)], input())).toBe('100-5000');
    expect(after([version('1', 100, 5_000)], input({ validTo: null }))).toBe('100-');
    expect(after([version('1', 100, null)], input({ validTo: 900 }))).toBe('100-900');
  });

  it('with the beginning of a stored one replaces that one', () => {
    expect(after([version('1', 100, 200)], input({ validFrom: 100, validTo: 300 }))).toBe('100-300');
    expect(
      after([version('1', 100, 200), version('2', 250, null)], input({ validFrom: 100, validTo: null })),
    ).toBe('100-250 250-');
  });

  it('with a later beginning closes the one that is valid then', () => {
    expect(after([version('1', 100, null)], input({ validFrom: 500 }))).toBe('100-500 500-');
    expect(after([version('1', 100, null)], input({ validFrom: 3_000 }))).toBe('100-3000 3000-');
    expect(after([version('1', 100, 200), version('2', 200, null)], input({ validFrom: 150 }))).toBe(
      '100-150 150-200 200-',
    );
  });

  it('with an earlier beginning moves that of the one that is valid now', () => {
    const plan = planRelations([version('1', 500, null)], [input({ validFrom: 100 })], now);
    expect(plan).toMatchObject({ inserted: [], ids: ['1'], replaced: 1 });
    expect(after([version('1', 100, 200), version('2', 500, null)], input({ validFrom: 300 }))).toBe(
      '100-200 300-',
    );
    expect(after([version('1', 500, 600)], input({ validFrom: 100 }))).toBe('100-500 500-600');
  });

  it.each([
    ['an end before its beginning', [], [input({ validFrom: 5, validTo: 5 })], 'relations[0].valid_to'],
    [
      'an end before the beginning that it keeps',
      [version('1', 100, null)],
      [input({ validTo: 50 })],
      'relations[0].valid_to',
    ],
    ['the time of an earlier one', [], [input(), input({ weight: 2 })], 'relations[1]'],
    [
      'the time of one that it replaces',
      [version('1', 100, null)],
      [input(), input({ validFrom: 100 })],
      'relations[1]',
    ],
  ])('must not have %s', (_what, known, inputs, param) => {
    expect(() => planRelations(known, inputs, now)).toThrow(`Invalid value for ${param}:`);
  });

  it('keeps the newest versions, and rejects one that is older', () => {
    const known = Array.from({ length: maxVersions }, (_, index) =>
      version(`${index}`, index * 2 + 2, index * 2 + 3),
    );
    expect(planRelations(known, [input({ validFrom: 500 })], now).removed).toEqual(['0']);
    expect(() => planRelations(known, [input({ validFrom: 0, validTo: 1 })], now)).toThrow(/older than/);
  });
});

it('never has two versions that are valid at once, whatever is stored in which order', () => {
  const time = fc.integer({ min: 0, max: 30 });
  const inputs = fc.array(
    fc.record({
      from: fc.option(time, { nil: undefined }),
      to: fc.option(time, { nil: undefined }),
      open: fc.boolean(),
    }),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(inputs, (given) => {
      let known: KnownVersion[] = [];
      for (const [step, { from, to, open }] of given.entries()) {
        try {
          const validTo = open ? null : to;
          const plan = planRelations(known, [input({ validFrom: from, validTo })], step + 5);
          const changed = [...plan.inserted, ...plan.updated];
          known = [...known.filter(({ id }) => !changed.some((each) => each.id === id)), ...changed];
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_value' });
        }
        const sorted = known.toSorted((one, other) => one.validFrom - other.validFrom);
        for (const [index, { validFrom, validTo }] of sorted.entries()) {
          expect(validTo ?? Infinity).toBeGreaterThan(validFrom);
          const next = sorted[index + 1];
          if (next !== undefined) expect(validTo ?? Infinity).toBeLessThanOrEqual(next.validFrom);
        }
      }
    }),
  );
});
