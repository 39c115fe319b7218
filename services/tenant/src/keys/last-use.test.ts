import { describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { LastUse } from './last-use.ts';

describe('noting the last use of keys', () => {
  it('writes once for a key that is used again while the write is under way', async () => {
    const written: string[] = [];
    let finish = (): void => undefined;
    const gate = new Promise<void>((resolve) => (finish = resolve));
    const touch = async (id: string): Promise<void> => {
      written.push(id);
      await gate;
    };
    const lastUse = new LastUse({ touch, log: createLogger('test', 'silent') });
    for (const id of ['a', 'a', 'b', 'a']) lastUse.note(id);
    let stopped = false;
    const stop = lastUse.stop().then(() => (stopped = true));
    await Promise.resolve();
    expect(stopped).toBe(false);
    finish();
    await stop;
    expect(written).toEqual(['a', 'b']);
    lastUse.note('a');
    expect(written).toEqual(['a', 'b', 'a']);
    await lastUse.stop();
  });

  it('logs a failure when it begins, and again only after a write has worked', async () => {
    const log = createLogger('test', 'silent');
    const warn = jest.spyOn(log, 'warn');
    let failing = true;
    const touch = async (): Promise<void> => {
      if (failing) throw new Error('away');
    };
    const lastUse = new LastUse({ touch, log });
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
});
