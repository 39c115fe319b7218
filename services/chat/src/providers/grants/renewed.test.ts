import { describe, expect, it } from '@jest/globals';
import { monotonicMs } from '@gatehouse/kit/clock';
import { CredentialsError } from '../credentials.ts';
import { Renewed, type Grant } from './renewed.ts';

const grantOf = (value: string, lifetimeMs = Infinity): Grant<string> => ({ value, lifetimeMs });
const nothing = (): void => undefined;
const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('a grant that is renewed', () => {
  it('is asked for once by all who wait, and is there at once then', async () => {
    let asked = 0;
    const renewed = new Renewed(() => Promise.resolve(grantOf(String((asked += 1)))), nothing);
    expect(await Promise.all([renewed.get(), renewed.get()])).toEqual(['1', '1']);
    expect(renewed.get()).toBe('1');
  });

  it('is renewed ahead, while the one before is used', async () => {
    const next = Promise.withResolvers<Grant<string>>();
    const grants = [Promise.resolve(grantOf('old', 3_000)), next.promise];
    let asked = 0;
    const renewed = new Renewed(
      () => grants[asked++] ?? Promise.reject(new Error('asked too often')),
      nothing,
    );
    await renewed.get();
    await after(2_100);
    expect([renewed.get(), renewed.get(), asked]).toEqual(['old', 'old', 2]);
    next.resolve(grantOf('new'));
    await after(10);
    expect(renewed.get()).toBe('new');
  });

  it('is not asked for again in a pause after a failure, which is reported without its secrets', async () => {
    const failures: string[] = [];
    let asked = 0;
    const ask = (): Promise<Grant<string>> => {
      asked += 1;
      return Promise.reject(Object.assign(new Error('with the secret s3cr3t'), { status: 500 }));
    };
    const renewed = new Renewed(ask, ({ message }) => failures.push(message));
    for (let call = 0; call < 5; call += 1)
      await expect(renewed.get()).rejects.toBeInstanceOf(CredentialsError);
    expect([asked, failures]).toEqual([1, ['the issuer could not be asked: Error 500']]);
  });

  it('is asked for again after a refusal, for which the refused call alone waits', async () => {
    const next = Promise.withResolvers<Grant<string>>();
    const grants = [Promise.resolve(grantOf('one', 60_000)), next.promise];
    const renewed = new Renewed(
      () => grants.shift() ?? Promise.reject(new Error('asked too often')),
      nothing,
    );
    await renewed.get();
    const [early, sent] = [0, monotonicMs()];
    const refused = [renewed.refused(sent), renewed.refused(sent)];
    expect(renewed.get()).toBe('one');
    next.resolve(grantOf('two', 60_000));
    expect(await Promise.all(refused)).toEqual([true, true]);
    // A call that was sent with the first, and one that was sent with the second.
    expect([await renewed.refused(early), await renewed.refused(monotonicMs())]).toEqual([true, false]);
    expect([renewed.get(), grants]).toEqual(['two', []]);
  });

  it('is no other one where the issuer grants the same again, or none', async () => {
    const grants = [grantOf('one', 60_000), grantOf('one', 60_000)];
    const renewed = new Renewed(() => {
      const grant = grants.shift();
      return grant === undefined ? Promise.reject(new Error('none')) : Promise.resolve(grant);
    }, nothing);
    expect(await renewed.get()).toBe('one');
    expect(await renewed.refused(monotonicMs())).toBe(false);
    expect(grants).toEqual([]);
    expect(renewed.get()).toBe('one');
  });

  it('that is asked for ends when it is closed', async () => {
    const renewed = new Renewed<string>(
      (signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        }),
      nothing,
    );
    const waiting = renewed.get();
    renewed.close();
    await expect(waiting).rejects.toThrow('the process stops');
  });
});
