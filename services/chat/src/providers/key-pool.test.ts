import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { monotonicMs } from '@gatehouse/kit/clock';
import { Choices } from './choice.ts';
import { fixedHeaders } from './credentials.ts';
import { fileKey } from './credentials/file-key.ts';
import { KeyPool, type KeySource, type PoolKey } from './key-pool.ts';
import { ProviderFailure } from './provider-failure.ts';
import { Pieces } from '@gatehouse/dialects/wire/pieces';

let now = 0;
let failing: (number | null)[][];
let refusals: Map<number, { status: number; retryAfterMs?: number }>;
beforeEach(() => {
  now = 0;
  failing = [];
  refusals = new Map();
});

function poolOf(keys: readonly KeySource[]): KeyPool {
  const choices = new Choices(() => now);
  const onFailing = (position: number, status: number | null): number => failing.push([position, status]);
  return new KeyPool({ ...{ provider: 'acme', keys, choices, onFailing }, now: () => now });
}

const keysOf = (...weights: number[]): KeySource[] =>
  weights.map((weight, index) => ({
    id: String(index),
    weight,
    credentials: fixedHeaders({ key: String(index + 1) }),
  }));

const call = { operation: 'chat', model: 'm', tenantId: 't', affinity: 's' };

/** Sends a call; returns the positions of the keys that were tried, and how it ended. */
async function send(pool: KeyPool, of = call): Promise<{ tried: number[]; failure: ProviderFailure | null }> {
  const tried: number[] = [];
  const provider = (key: PoolKey | null): Promise<string> => {
    tried.push(key?.position ?? 0);
    const refusal = refusals.get(key?.position ?? 0);
    if (refusal === undefined) return Promise.resolve('answer');
    return Promise.reject(new ProviderFailure('status', 'acme', refusal));
  };
  const rotation = pool.selectKey(of);
  if (rotation.key === null) return { tried, failure: rotation.exhausted };
  const failure = await rotation.sent(provider).then(
    () => null,
    (error: unknown) => error as ProviderFailure,
  );
  return { tried, failure };
}

describe('a pool of keys', () => {
  it('divides sessions by weight, and keeps each at one key', async () => {
    const pool = poolOf(keysOf(1, 3));
    let second = 0;
    for (let n = 0; n < 10_000; n += 1) {
      const of = { ...call, affinity: `s${n}` };
      const { tried } = await send(pool, of);
      if (n < 100) expect((await send(pool, of)).tried).toEqual(tried);
      if (tried[0] === 2) second += 1;
    }
    expect(Math.abs(second / 10_000 - 3 / 4)).toBeLessThan(0.02);
  });

  it('goes on with the next key at once, leaves the refused one alone, and stays with the next', async () => {
    const pool = poolOf(keysOf(1, 1, 1));
    const [first = 0] = (await send(pool)).tried;
    refusals.set(first, { status: 429, retryAfterMs: 30_000 });
    const { tried, failure } = await send(pool);
    expect([tried[0], tried.length, failure]).toEqual([first, 2, null]);
    const second = tried[1];
    expect((await send(pool)).tried).toEqual([second]);
    refusals.clear();
    now += 31_000;
    expect((await send(pool)).tried).toEqual([second]);
    now += 301_000;
    expect((await send(pool)).tried).toEqual([first]);
    expect(failing).toEqual([]);
  });

  it('makes no call while all keys rest, and says when the first may be used', async () => {
    const pool = poolOf(keysOf(1, 1, 1));
    refusals = new Map([
      [1, { status: 429, retryAfterMs: 30_000 }],
      [2, { status: 429, retryAfterMs: 9_000 }],
      [3, { status: 401 }],
    ]);
    const all = await send(pool);
    expect(all.tried.toSorted()).toEqual([1, 2, 3]);
    now += 1_000;
    for (const [waits, failure] of [
      [9_000, all.failure],
      [8_000, (await send(pool)).failure],
    ] as const)
      expect(failure?.details).toMatchObject({ status: 429, retryAfterMs: waits, isResting: true });
    expect((await send(pool)).tried).toEqual([]);
    expect(failure(await send(pool)).retryable).toBe(false);
    expect(pool.states('m').map(({ reason }) => reason)).toEqual(['limited', 'limited', 'refused']);
    expect(pool.states('other').map(({ reason }) => reason)).toEqual([null, null, null]);
  });

  it('reports a refused key once until it is accepted, and shows a client that the last is refused', async () => {
    const pool = poolOf(keysOf(1));
    refusals.set(1, { status: 401 });
    expect(failure(await send(pool)).toAppError().code).toBe('provider_authentication');
    expect((await send(pool)).tried).toEqual([]);
    now += 61_000;
    expect((await send(pool)).tried).toEqual([1]);
    expect(pool.states('m')[0]?.restsForMs).toBe(120_000);
    expect(failing).toEqual([[1, 401]]);
    refusals.clear();
    now += 121_000;
    expect((await send(pool)).failure).toBeNull();
    refusals.set(1, { status: 403 });
    await send(pool);
    expect(failing).toEqual([
      [1, 401],
      [1, 403],
    ]);
  });

  it('reports a key that is refused for one operation once, though it is accepted for others meanwhile', async () => {
    const pool = poolOf(keysOf(1));
    const [of, other] = [
      { ...call, operation: 'embeddings' },
      { ...call, operation: 'embeddings', tenantId: 'u' },
    ];
    refusals.set(1, { status: 403 });
    await send(pool, of);
    refusals.clear();
    expect((await send(pool)).failure).toBeNull();
    refusals.set(1, { status: 403 });
    await send(pool, other);
    expect(failing).toEqual([[1, 403]]);
  });

  it('passes on failures that say nothing of keys', async () => {
    const pool = poolOf(keysOf(1, 1));
    for (const status of [400, 500, 529]) {
      for (const position of [1, 2]) refusals.set(position, { status });
      const { tried, failure: ofCall } = await send(pool);
      expect([tried.length, ofCall?.details.status]).toEqual([1, status]);
    }
    expect(pool.states('m').every(({ reason }) => reason === null)).toBe(true);
  });
});

function failure({ failure: ofCall }: { failure: ProviderFailure | null }): ProviderFailure {
  if (ofCall === null) throw new Error('the call succeeded');
  return ofCall;
}

describe('a key in a file', () => {
  let folder: string;
  let file: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'keys-'));
    file = path.join(folder, 'key');
  });
  afterAll(async () => rm(folder, { recursive: true }));

  /** A pool with the file alone, at a provider that accepts `good`. */
  async function asked(pool: KeyPool, good: string): Promise<string[]> {
    const sent: string[] = [];
    const provider = async (key: PoolKey | null): Promise<void> => {
      const sentAt = monotonicMs();
      const proof = await key?.credentials.headersFor({ path: '/', headers: {}, body: new Pieces([]) });
      sent.push(proof?.['key'] ?? '');
      if (proof?.['key'] === good) return;
      const isStale = (await key?.credentials.refused?.(401, sentAt)) ?? false;
      throw new ProviderFailure('status', 'acme', { status: 401, isStale });
    };
    const rotation = pool.selectKey(call);
    if (rotation.key !== null)
      await rotation.sent(provider).catch((error: unknown) => sent.push(String(error)));
    return sent;
  }

  it('is read again when the provider refuses it, and no failure where it has changed', async () => {
    await writeFile(file, 'old\n');
    const key = fileKey(
      file,
      (text) => ({ key: text }),
      () => undefined,
    );
    const pool = poolOf([{ ...key, id: 'a', weight: 1 }]);
    expect(await asked(pool, 'old')).toEqual(['old']);
    await writeFile(file, 'new\n');
    expect(await asked(pool, 'new')).toEqual(['old', 'new']);
    expect(failing).toEqual([]);
    const refused = await asked(pool, 'newest');
    expect([refused[0], refused.length]).toEqual(['new', 2]);
    expect(refused[1]).toContain('401');
    expect(failing).toEqual([[1, 401]]);
  });
});
