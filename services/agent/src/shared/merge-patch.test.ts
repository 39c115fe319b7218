import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mergePatch } from './merge-patch.ts';

/** JSON as a client may send it, names such as `__proto__` included. */
const json = fc.json({ maxDepth: 4 }).map((text) => JSON.parse(text) as unknown);
const withoutNulls = json.map(dropNulls);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Removes null members of objects, which no merge patch can create. Nulls in arrays stay. */
function dropNulls(value: unknown): unknown {
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([name, member]) => [name, dropNulls(member)]));
}

/** The patch that turns one document into the other. */
function diff(from: unknown, to: unknown): unknown {
  if (!isObject(from) || !isObject(to)) return to;
  const names = new Set([...Object.keys(from), ...Object.keys(to)]);
  return Object.fromEntries(
    [...names].map((name) => {
      if (!Object.hasOwn(to, name)) return [name, null];
      return [name, Object.hasOwn(from, name) ? diff(from[name], to[name]) : to[name]];
    }),
  );
}

describe('a JSON merge patch', () => {
  it.each<[target: string, patch: string, result: string]>([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ])('makes of %s and %s what RFC 7396, appendix A, says', (target, patch, result) => {
    expect(mergePatch(JSON.parse(target), JSON.parse(patch))).toEqual(JSON.parse(result));
  });

  it('can turn any document into any other that has no null members', () => {
    fc.assert(
      fc.property(json, withoutNulls, (from, to) => {
        expect(mergePatch(from, diff(from, to))).toEqual(to);
      }),
    );
  });

  it('changes nothing when it is applied once more', () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const once = mergePatch(target, patch);
        expect(mergePatch(once, patch)).toEqual(once);
      }),
    );
  });

  it('changes nothing when it is empty', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), json), (target) => {
        expect(mergePatch(target, {})).toEqual(target);
      }),
    );
  });

  it('leaves its arguments and the prototypes of objects as they were', () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const before = JSON.stringify([target, patch]);
        mergePatch(target, patch);
        expect(JSON.stringify([target, patch])).toBe(before);
      }),
    );
    const patch: unknown = JSON.parse(
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
    );
    const merged = mergePatch({}, patch);
    expect(JSON.stringify(merged)).toBe(JSON.stringify(patch));
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    expect((merged as { polluted?: unknown }).polluted).toBeUndefined();
  });
});
