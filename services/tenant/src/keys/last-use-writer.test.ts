import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { LastUseWriter } from './last-use-writer.ts';

describe('noting the last use of keys', () => {
  it('writes the first at once, and all that are used meanwhile together', async () => {
    const written: (readonly string[])[] = [];
    let finish = (): void => undefined;
    const gate = new Promise<void>((resolve) => (finish = resolve));
    const touch = async (ids: readonly string[]): Promise<void> => {
      written.push(ids);
      await gate;
    };
    const lastUse = new LastUseWriter({ touch, log: createLogger('test', 'silent') });
    for (const id of ['a', 'b', 'c', 'b', 'a']) lastUse.note(id);
    expect(written).toEqual([['a']]);
    let stopped = false;
    const stop = lastUse.stop().then(() => (stopped = true));
    await Promise.resolve();
    expect(stopped).toBe(false);
    finish();
    await stop;
    expect(written).toEqual([['a'], ['b', 'c', 'a']]);
  });

  it('writes once during the pause for any number of keys, a thousand at a time', async () => {
    const sizes: number[] = [];
    const touch = async (ids: readonly string[]): Promise<void> => void sizes.push(ids.length);
    const lastUse = new LastUseWriter({ touch, log: createLogger('test', 'silent'), pauseMs: 60_000 });
    for (let id = 0; id < 2_500; id += 1) {
      lastUse.note(`key ${id}`);
      if (id % 500 === 0) await setImmediate();
    }
    expect(sizes).toEqual([1]);
    await lastUse.stop();
    expect(sizes).toEqual([1, 1_000, 1_000, 499]);
  });

  it('logs a failure when it begins, and again only after a write has worked', async () => {
    const log = createLogger('test', 'silent');
    const warn = jest.spyOn(log, 'warn');
    let failing = true;
    const touch = async (): Promise<void> => {
      if (failing) throw new Error('away');
    };
    const lastUse = new LastUseWriter({ touch, log, pauseMs: 0 });
    const note = async (id: string): Promise<void> => {
      lastUse.note(id);
      await lastUse.stop();
    };
    await note('a');
    await note('b');
    expect(warn).toHaveBeenCalledTimes(1);
    failing = false;
    await note('a');
    failing = true;
    await note('a');
    expect(warn).toHaveBeenCalledTimes(2);
  });

  it('writes again, after a pause, what failed and what the write returned', async () => {
    const written: (readonly string[])[] = [];
    const touch = async (ids: readonly string[]): Promise<readonly string[]> => {
      written.push(ids);
      if (written.length === 1) throw new Error('away');
      return ids.filter((id) => id === 'locked' && written.length < 3);
    };
    const lastUse = new LastUseWriter({ touch, log: createLogger('test', 'silent'), pauseMs: 0 });
    lastUse.note('a');
    lastUse.note('locked');
    await eventually(() => expect(written).toEqual([['a'], ['locked', 'a'], ['locked']]));
    await lastUse.stop();
    expect(written).toHaveLength(3);
  });
});
