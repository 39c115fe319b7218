import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { AppError } from './errors.ts';
import { FairQueue, type FairQueueOptions } from './fair-queue.ts';

/** Work that runs until it is ended, in the order in which it began. */
class Work {
  readonly begun: string[] = [];
  readonly #turns: FairQueue;
  readonly #ends: (() => void)[] = [];
  #now = 0;

  constructor(options: Partial<FairQueueOptions>) {
    this.#turns = new FairQueue({ perKey: 100, maxWaiting: 100, ...options }, () => this.#now);
  }

  get waiting(): number {
    return this.#turns.waiting;
  }

  get tenants(): number {
    return this.#turns.size;
  }

  add(tenantId: string | null, signal?: AbortSignal): Promise<string> {
    const work = async (): Promise<string> => {
      this.begun.push(String(tenantId));
      await new Promise<void>((resolve) => this.#ends.push(resolve));
      return 'done';
    };
    const run = this.#turns.run(tenantId, work, signal);
    return run.catch((error: unknown) => (error as AppError).code);
  }

  /** Ends the work that began first; `ms` pass before. */
  async endOne(ms = 1): Promise<void> {
    this.#now += ms;
    this.#ends.shift()?.();
    await new Promise(setImmediate);
  }
}

describe('turns of tenants', () => {
  it('alternate, however much one of them brings', async () => {
    const work = new Work({ slots: 1 });
    for (const tenant of ['a', 'a', 'a', 'a', 'b', 'c', 'b']) void work.add(tenant);
    for (let n = 0; n < 7; n += 1) await work.endOne();
    expect(work.begun).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a']);
    expect(work.waiting).toBe(0);
  });

  it('are shared by time: long work of one tenant waits for short work of another', async () => {
    const work = new Work({ slots: 1 });
    for (const tenant of ['a', 'a', 'a', 'b', 'b', 'b', 'b']) void work.add(tenant);
    for (const ms of [30, 10, 10, 10, 30, 10, 30]) await work.endOne(ms);
    expect(work.begun).toEqual(['a', 'b', 'b', 'b', 'a', 'b', 'a']);
  });

  it('forget the time of a tenant as it is without work: others with one piece each do not pass it for ever', async () => {
    const work = new Work({ slots: 1 });
    for (const tenant of ['a', '0', '1']) void work.add(tenant);
    await work.endOne(30);
    for (let n = 2; n < 8; n += 1) {
      void work.add(String(n));
      await work.endOne(10);
    }
    void work.add('a');
    for (let n = 8; n < 12; n += 1) {
      void work.add(String(n));
      await work.endOne(10);
    }
    expect(work.begun.slice(-4)).toContain('a');
  });

  it('come to a tenant with more time than others, however many come with one piece each', async () => {
    const work = new Work({ slots: 1 });
    void work.add('a');
    for (const tenant of ['a', '0', '1']) void work.add(tenant);
    await work.endOne(30);
    for (let n = 2; n < 16; n += 1) {
      void work.add(String(n));
      await work.endOne(10);
    }
    expect(work.begun.slice(1)).toContain('a');
  });

  it('remember the time of a tenant that brings one long piece after the other', async () => {
    const work = new Work({ slots: 1 });
    void work.add('a');
    for (let n = 0; n < 4; n += 1) void work.add('b');
    await work.endOne(25);
    void work.add('a');
    for (let n = 0; n < 4; n += 1) await work.endOne(10);
    expect(work.begun).toEqual(['a', 'b', 'b', 'b', 'a', 'b']);
    for (let n = 0; n < 2; n += 1) await work.endOne();
    expect(work.tenants).toBe(0);
  });

  it('are given to a tenant that comes new before those that have used more, and not for long', async () => {
    const work = new Work({ slots: 1 });
    for (let n = 0; n < 3; n += 1) void work.add('a');
    await work.endOne(1_000);
    void work.add('b');
    void work.add('b');
    for (let n = 0; n < 4; n += 1) await work.endOne(10);
    expect(work.begun).toEqual(['a', 'a', 'b', 'a', 'b']);
  });

  it('leave one of several slots to the others', async () => {
    const work = new Work({ slots: 3, perKey: 2 });
    for (const tenant of ['a', 'a', 'a', 'a', 'b', 'b']) void work.add(tenant);
    expect(work.begun).toEqual(['a', 'a', 'b']);
    expect(work.waiting).toBe(3);
    await work.endOne();
    expect(work.begun).toEqual(['a', 'a', 'b', 'b']);
    for (let n = 0; n < 5; n += 1) await work.endOne();
    expect(work.begun).toHaveLength(6);
  });

  it('end with an error after the longest wait, and then take nothing', async () => {
    const error = () => new AppError('database_unavailable', 'too late');
    const longestWait = { ms: 20, error };
    const work = new Work({ slots: 1, longestWait });
    const first = work.add('a');
    expect(await work.add('b')).toBe('database_unavailable');
    expect([work.waiting, work.tenants]).toEqual([0, 1]);
    await work.endOne();
    expect(await first).toBe('done');
    expect(work.tenants).toBe(0);
    void work.add('b');
    expect(work.begun).toEqual(['a', 'b']);
  });

  it('are refused to a tenant of which too many wait, and to no other', async () => {
    const work = new Work({ slots: 1, maxWaiting: 2 });
    for (let n = 0; n < 3; n += 1) void work.add('a');
    expect(await work.add('a')).toBe('rate_limit_exceeded');
    const other = work.add('b');
    for (let n = 0; n < 4; n += 1) await work.endOne();
    expect(await other).toBe('done');
  });

  it('are refused when too much work of all tenants waits', async () => {
    const work = new Work({ slots: 1, maxWaitingOfAll: 2 });
    for (const tenant of ['a', 'b', 'c']) void work.add(tenant);
    expect(await work.add('d')).toBe('rate_limit_exceeded');
    expect(work.tenants).toBe(3);
    for (let n = 0; n < 3; n += 1) await work.endOne();
    expect(work.begun).toEqual(['a', 'b', 'c']);
  });

  it('are refused to those that have the most waiting when too much waits, for those that have less', async () => {
    const work = new Work({ slots: 1, maxWaitingOfAll: 4 });
    const [, ...waiting] = ['a', 'b', 'b', 'c', 'c'].map((tenant) => work.add(tenant));
    const late = ['d', 'e', 'f', 'b'].map((tenant) => work.add(tenant));
    expect(await Promise.all([waiting[1], waiting[3], late[2], late[3]])).toEqual(
      Array.from({ length: 4 }, () => 'rate_limit_exceeded'),
    );
    expect([work.waiting, work.tenants]).toEqual([4, 5]);
    for (let n = 0; n < 5; n += 1) await work.endOne();
    expect(work.begun).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect([work.waiting, work.tenants]).toEqual([0, 0]);
  });

  it('are refused with the error of the options, if they have one', async () => {
    const tooMany = () => new AppError('service_unavailable', 'busy');
    const work = new Work({ slots: 1, maxWaiting: 1, tooMany });
    for (let n = 0; n < 2; n += 1) void work.add('a');
    expect(await work.add('a')).toBe('service_unavailable');
  });

  it('are not shared without slots for all: each tenant has its own limit, and so have all owner keys', async () => {
    const work = new Work({ perKey: 1 });
    for (const tenant of ['a', 'a', 'b', 'b', null, null]) void work.add(tenant);
    expect(work.begun).toEqual(['a', 'b', 'null']);
    for (let n = 0; n < 6; n += 1) await work.endOne();
    expect(work.begun).toEqual(['a', 'b', 'null', 'a', 'b', 'null']);
    expect([work.waiting, work.tenants]).toEqual([0, 0]);
  });

  it('let requests of a tenant wait, refuse too many, and serve other tenants', async () => {
    const reads = new FairQueue({ perKey: 2, maxWaiting: 1 });
    const { promise, resolve } = Promise.withResolvers<string>();
    const started: number[] = [];
    const waiting = [1, 2, 3].map((n) =>
      reads.run('a', () => {
        started.push(n);
        return promise;
      }),
    );
    expect(started).toEqual([1, 2]);
    await expect(reads.run('a', () => Promise.resolve(''))).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      headers: { 'retry-after': '1' },
    });
    expect(await reads.run('b', () => Promise.resolve('served'))).toBe('served');
    expect(await reads.run(null, () => Promise.resolve('served'))).toBe('served');
    await expect(reads.run('b', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(reads.size).toBe(1);
    resolve('done');
    expect(await Promise.all(waiting)).toEqual(['done', 'done', 'done']);
    expect(started).toEqual([1, 2, 3]);
    expect(reads.size).toBe(0);
    expect(await reads.run('a', () => Promise.resolve('again'))).toBe('again');
  });

  it('are not waited for after an abort', async () => {
    const work = new Work({ slots: 1 });
    const stop = new AbortController();
    void work.add('a');
    const waiting = work.add('b', stop.signal);
    const next = work.add('b');
    stop.abort(new AppError('service_timeout', 'too late'));
    expect(await waiting).toBe('service_timeout');
    expect(await work.add('c', stop.signal)).toBe('service_timeout');
    expect([work.waiting, work.tenants]).toEqual([1, 2]);
    for (let n = 0; n < 2; n += 1) await work.endOne();
    expect(await next).toBe('done');
    expect(work.begun).toEqual(['a', 'b']);
    expect([work.waiting, work.tenants]).toEqual([0, 0]);
  });

  it('do not listen for an abort longer than they wait', async () => {
    const work = new Work({ perKey: 1, longestWait: { ms: 20, error: () => new Error('too late') } });
    const { signal } = new AbortController();
    for (const tenant of ['a', 'a', 'b', 'b']) void work.add(tenant, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(2);
    await work.endOne();
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await eventually(() => expect(getEventListeners(signal, 'abort')).toEqual([]));
  });

  it('pass on when work fails', async () => {
    const turns = new FairQueue({ perKey: 1, maxWaiting: 1 });
    const failing = turns.run('a', () => Promise.reject(new Error('failed')));
    const next = turns.run('a', () => Promise.resolve('done'));
    await expect(failing).rejects.toThrow('failed');
    expect(await next).toBe('done');
  });
});
