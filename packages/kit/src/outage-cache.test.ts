import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ChangeWatch } from './change-watch.ts';
import { AppError } from './errors.ts';
import { OutageCache, type OutageCacheOptions } from './outage-cache.ts';

class Away extends Error {}

type Value = string | null;

let now = 0;
beforeEach(() => {
  now = 1_000_000;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  jest.restoreAllMocks();
});

function makeCache(options: Partial<OutageCacheOptions<Value>> = {}): OutageCache<Value> {
  return new OutageCache<Value>({
    max: 100,
    freshMs: 3_000,
    outageMs: 60_000,
    isOutage: (error) => error instanceof Away,
    survivesOutage: (value) => value !== null,
    ...options,
  });
}

/** A source with a changeable answer that counts its calls. */
class Source {
  asked = 0;
  answer: Value | Error = 'v1';
  readonly load = async (): Promise<Value> => {
    this.asked += 1;
    if (this.answer instanceof Error) throw this.answer;
    return this.answer;
  };
}

describe('while the source is there', () => {
  it('answers from memory as long as an answer is fresh, then asks again', async () => {
    const [cache, source] = [makeCache(), new Source()];
    expect(cache.peek('k')).toBeUndefined();
    expect(await cache.get('k', source.load)).toBe('v1');
    source.answer = 'v2';
    now += 2_999;
    expect(await cache.get('k', source.load)).toBe('v1');
    expect(cache.peek('k')).toBe('v1');
    expect(source.asked).toBe(1);
    now += 1;
    expect(cache.peek('k')).toBeUndefined();
    expect(await cache.get('k', source.load)).toBe('v2');
    expect(source.asked).toBe(2);
  });

  it('counts freshness from the question, not from a late answer', async () => {
    const cache = makeCache();
    await cache.get('k', async () => {
      now += 2_000;
      return 'slow';
    });
    now += 999;
    expect(cache.peek('k')).toBe('slow');
    now += 1;
    expect(cache.peek('k')).toBeUndefined();
  });

  it('asks once for one key however many want it at once, and separately for each key', async () => {
    const [cache, source] = [makeCache(), new Source()];
    const answers = await Promise.all(Array.from({ length: 10 }, () => cache.get('k', source.load)));
    expect([answers, source.asked]).toEqual([Array(10).fill('v1'), 1]);
    await Promise.all([cache.get('a', source.load), cache.get('b', source.load)]);
    expect(source.asked).toBe(3);
  });

  it('rejects for every caller that waits when it fails, and asks again for the next', async () => {
    const [cache, source] = [makeCache(), new Source()];
    source.answer = new Error('refused');
    const outcomes = await Promise.allSettled([cache.get('k', source.load), cache.get('k', source.load)]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected']);
    expect(source.asked).toBe(1);
    source.answer = 'v1';
    expect(await cache.get('k', source.load)).toBe('v1');
  });

  it('remembers a no as well as a yes, and lets one replace the other', async () => {
    const [cache, source] = [makeCache(), new Source()];
    source.answer = null;
    expect(await cache.get('k', source.load)).toBeNull();
    expect(await cache.get('k', source.load)).toBeNull();
    expect(source.asked).toBe(1);
    for (const answer of ['v1', null, 'v2'] as const) {
      now += 3_000;
      source.answer = answer;
      expect(await cache.get('k', source.load)).toBe(answer);
      expect(cache.peek('k')).toBe(answer);
    }
  });

  it('asks on request although the answer is fresh', async () => {
    const [cache, source] = [makeCache(), new Source()];
    await cache.get('k', source.load);
    source.answer = 'v2';
    expect(await cache.getNow('k', source.load)).toBe('v2');
    expect(cache.peek('k')).toBe('v2');
  });

  it('forgets the least recently used past its size', async () => {
    const [cache, source] = [makeCache({ max: 2 }), new Source()];
    await cache.get('a', source.load);
    await cache.get('b', source.load);
    cache.peek('a');
    await cache.get('c', source.load);
    expect([cache.peek('a'), cache.peek('b'), cache.peek('c')]).toEqual(['v1', undefined, 'v1']);
  });
});

describe('while the source is away', () => {
  it('goes on with what it knows until that is too old, asking the source once a second', async () => {
    const [cache, source] = [makeCache(), new Source()];
    await cache.get('k', source.load);
    source.answer = new Away();
    now += 3_000;
    expect(await cache.get('k', source.load)).toBe('v1');
    expect(await cache.get('k', source.load)).toBe('v1');
    expect(cache.peek('k')).toBe('v1');
    expect(source.asked).toBe(2);
    now += 1_000;
    expect(cache.peek('k')).toBeUndefined();
    expect(await cache.get('k', source.load)).toBe('v1');
    expect(source.asked).toBe(3);
    now = 1_000_000 + 59_999;
    expect(await cache.get('k', source.load)).toBe('v1');
    now += 1;
    expect(cache.peek('k')).toBeUndefined();
    await expect(cache.get('k', source.load)).rejects.toThrow(Away);
  });

  it('is over with the first answer', async () => {
    const [cache, source] = [makeCache(), new Source()];
    await cache.get('k', source.load);
    now += 3_000;
    source.answer = new Away();
    await cache.get('k', source.load);
    now += 1_000;
    source.answer = 'v2';
    expect(await cache.get('k', source.load)).toBe('v2');
    now += 2_999;
    expect(cache.peek('k')).toBe('v2');
  });

  it('says so for what it does not know, and for a no that is no longer fresh', async () => {
    const [cache, source] = [makeCache(), new Source()];
    source.answer = null;
    await cache.get('no', source.load);
    source.answer = new Away();
    expect(await cache.get('no', source.load)).toBeNull();
    now += 3_000;
    await expect(cache.get('no', source.load)).rejects.toThrow(Away);
    await expect(cache.get('unknown', source.load)).rejects.toThrow(Away);
  });

  it('passes on an error that is the source’s own answer', async () => {
    const [cache, source] = [makeCache(), new Source()];
    await cache.get('k', source.load);
    now += 3_000;
    source.answer = new Error('no such thing');
    await expect(cache.get('k', source.load)).rejects.toThrow('no such thing');
  });

  it.each([
    ['not after the source has refused the value', new AppError('not_found', 'Deleted.'), false],
    ['after a refusal of the call alone', new AppError('rate_limit_exceeded', 'Too many.'), true],
  ])('uses what it knew in an outage: %s', async (_, refusal, isUsed) => {
    const [cache, source] = [makeCache(), new Source()];
    source.answer = 'v1';
    await cache.get('k', source.load);
    now += 3_000;
    source.answer = refusal;
    await expect(cache.get('k', source.load)).rejects.toBe(refusal);
    source.answer = new Away();
    if (isUsed) expect(await cache.get('k', source.load)).toBe('v1');
    else await expect(cache.get('k', source.load)).rejects.toThrow(Away);
  });

  it('knows whether anything could be answered', async () => {
    const [cache, source] = [makeCache(), new Source()];
    expect(cache.coversOutage).toBe(false);
    source.answer = null;
    await cache.get('no', source.load);
    expect(cache.coversOutage).toBe(false);
    source.answer = 'v1';
    await cache.get('k', source.load);
    expect(cache.coversOutage).toBe(true);
    now += 60_000;
    expect(cache.coversOutage).toBe(false);
  });

  it('still has what it knew after any number of noes', async () => {
    const [cache, source] = [makeCache({ max: 3 }), new Source()];
    await cache.get('k', source.load);
    source.answer = null;
    for (let guess = 0; guess < 50; guess += 1) await cache.get(`guess ${guess}`, source.load);
    source.answer = new Away();
    now += 3_000;
    expect(await cache.get('k', source.load)).toBe('v1');
  });

  it('keeps everything when nothing is said about what survives', async () => {
    const cache = new OutageCache<Value>({ max: 1, freshMs: 1, outageMs: 10, isOutage: () => true });
    await cache.get('k', () => Promise.resolve(null));
    now += 5;
    expect(await cache.get('k', () => Promise.reject(new Away()))).toBeNull();
  });
});

describe('a cache with a bound in bytes', () => {
  it('drops the least recently used entries past the bound, and keeps no value that is larger than it', async () => {
    const cache = makeCache({ size: { maxBytes: 10_000, bytesOf: (value) => value?.length ?? 0 } });
    const source = new Source();
    source.answer = 'x'.repeat(4_000);
    for (const key of ['a', 'b', 'c']) await cache.get(key, source.load);
    expect(['a', 'b', 'c'].map((key) => cache.peek(key) !== undefined)).toEqual([false, true, true]);
    source.answer = 'x'.repeat(10_001);
    expect(await cache.get('large', source.load)).toHaveLength(10_001);
    expect(cache.peek('large')).toBeUndefined();
    expect(cache.peek('c')).toBeDefined();
  });

  it('has no more entries than without such a bound', async () => {
    const cache = makeCache({ max: 3, size: { maxBytes: 10_000, bytesOf: () => 1 } });
    for (const key of ['a', 'b', 'c', 'd']) await cache.get(key, new Source().load);
    const known = ['a', 'b', 'c', 'd'].filter((key) => cache.knows(key));
    expect(known).toEqual(['b', 'c', 'd']);
  });
});

describe('with a watch of changes', () => {
  const watched = () => {
    const changes = new ChangeWatch({ list: () => Promise.reject(new Error('not asked')) });
    const stateOf = jest.spyOn(changes, 'stateOf').mockReturnValue('current');
    jest.spyOn(changes, 'heardAt', 'get').mockImplementation(() => now);
    const subjectsOf = (value: Value): string[] | null => (value === null ? null : [value]);
    return { stateOf, cache: makeCache({ watch: { changes, longestMs: 300_000, subjectsOf } }) };
  };

  it.each([
    [0, 300_000],
    [0.5, 270_000],
    [1, 240_000],
  ])('keeps a current value for a time by chance (%d): %d ms', async (chance, longestMs) => {
    jest.spyOn(Math, 'random').mockReturnValue(chance);
    const { cache, stateOf } = watched();
    const source = new Source();
    const loadedAt = now;
    await cache.get('k', source.load);
    now += longestMs - 1;
    expect(cache.peek('k')).toBe('v1');
    expect(stateOf).toHaveBeenLastCalledWith(['v1'], loadedAt);
    now += 1;
    expect(cache.peek('k')).toBeUndefined();
  });

  it('drops a changed value at once, however fresh', async () => {
    const { cache, stateOf } = watched();
    await cache.get('k', new Source().load);
    stateOf.mockReturnValue('changed');
    expect(cache.peek('k')).toBeUndefined();
  });

  it('uses a value as long as without a watch while nothing is known, or if none covers it', async () => {
    const { cache, stateOf } = watched();
    await cache.get('k', new Source().load);
    await cache.get('none', async () => null);
    stateOf.mockReturnValue('unknown');
    now += 2_999;
    expect([cache.peek('k'), cache.peek('none')]).toEqual(['v1', null]);
    now += 1;
    expect(cache.peek('k')).toBeUndefined();
    stateOf.mockReturnValue('current');
    expect([cache.peek('k'), cache.peek('none')]).toEqual(['v1', undefined]);
  });

  it('counts an outage from the last time at which the value was known to be current', async () => {
    const { cache, stateOf } = watched();
    const source = new Source();
    await cache.get('k', source.load);
    now += 200_000;
    expect(cache.peek('k')).toBe('v1');
    stateOf.mockReturnValue('unknown');
    source.answer = new Away();
    now += 59_999;
    expect(await cache.get('k', source.load)).toBe('v1');
    now += 1;
    await expect(cache.get('k', source.load)).rejects.toThrow(Away);
  });

  it('uses no value during an outage that was heard of as changed', async () => {
    const { cache, stateOf } = watched();
    const source = new Source();
    await cache.get('k', source.load);
    stateOf.mockReturnValue('unknown');
    source.answer = new Away();
    now += 3_000;
    expect(await cache.get('k', source.load)).toBe('v1');
    expect(cache.coversOutage).toBe(true);
    stateOf.mockReturnValue('changed');
    await expect(cache.get('k', source.load)).rejects.toThrow(Away);
    expect(cache.coversOutage).toBe(false);
  });
});

describe('values of tenants', () => {
  const size = { maxBytes: 20_000, bytesOf: () => 500 };
  const tenantOf = (key: string): string => key.slice(0, 1);

  it('of a tenant with many evict its own, and none of others', async () => {
    const [cache, source] = [makeCache({ size, tenantOf }), new Source()];
    await cache.get('b', source.load);
    for (let index = 0; index < 100; index += 1) await cache.get(`a${index}`, source.load);
    expect([cache.peek('b'), cache.peek('a0'), cache.peek('a99')]).toEqual(['v1', undefined, 'v1']);
  });

  it('that clients can make up evict no others, and survive an outage', async () => {
    const isApart = (value: Value): boolean => value === null;
    const options = { size, tenantOf, isApart, survivesOutage: () => true };
    const [cache, source] = [makeCache(options), new Source()];
    await cache.get('a', source.load);
    source.answer = null;
    for (let index = 0; index < 100; index += 1) await cache.get(`a${index}`, source.load);
    expect([cache.peek('a'), cache.peek('a0'), cache.peek('a99')]).toEqual(['v1', undefined, null]);
    source.answer = new Away();
    now += 59_000;
    expect(await cache.get('a99', source.load)).toBeNull();
    expect(await cache.get('a', source.load)).toBe('v1');
    source.answer = 'v2';
    now += 1_000;
    expect(await cache.get('a99', source.load)).toBe('v2');
    expect(cache.peek('a99')).toBe('v2');
  });
});
