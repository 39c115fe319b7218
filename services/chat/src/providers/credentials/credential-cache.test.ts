import { describe, expect, it } from '@jest/globals';
import { monotonicMs } from '@gatehouse/kit/clock';
import { CredentialsError } from '../credentials.ts';
import { CredentialCache, type IssuedCredential } from './credential-cache.ts';

const credentialOf = (value: string, lifetimeMs = Infinity): IssuedCredential<string> => ({
  value,
  lifetimeMs,
});
const nothing = (): void => undefined;
const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('a credential that is renewed', () => {
  it('is asked for once by all who wait, and is there at once then', async () => {
    let requests = 0;
    const cache = new CredentialCache(() => Promise.resolve(credentialOf(String((requests += 1)))), nothing);
    expect(await Promise.all([cache.get(), cache.get()])).toEqual(['1', '1']);
    expect(cache.get()).toBe('1');
  });

  it('is renewed ahead, while the one before is used', async () => {
    const next = Promise.withResolvers<IssuedCredential<string>>();
    const credentials = [Promise.resolve(credentialOf('old', 3_000)), next.promise];
    let requests = 0;
    const cache = new CredentialCache(
      () => credentials[requests++] ?? Promise.reject(new Error('asked too often')),
      nothing,
    );
    await cache.get();
    await after(2_100);
    expect([cache.get(), cache.get(), requests]).toEqual(['old', 'old', 2]);
    next.resolve(credentialOf('new'));
    await after(10);
    expect(cache.get()).toBe('new');
  });

  it('is not asked for again in a pause after a failure, which is reported without its secrets', async () => {
    const failures: string[] = [];
    let requests = 0;
    const fetchCredential = (): Promise<IssuedCredential<string>> => {
      requests += 1;
      return Promise.reject(Object.assign(new Error('with the secret s3cr3t'), { status: 500 }));
    };
    const cache = new CredentialCache(fetchCredential, ({ message }) => failures.push(message));
    for (let call = 0; call < 5; call += 1)
      await expect(cache.get()).rejects.toBeInstanceOf(CredentialsError);
    expect([requests, failures]).toEqual([1, ['the issuer could not be asked: Error 500']]);
  });

  it('is asked for again after a refusal, for which the refused call alone waits', async () => {
    const next = Promise.withResolvers<IssuedCredential<string>>();
    const credentials = [Promise.resolve(credentialOf('one', 60_000)), next.promise];
    const cache = new CredentialCache(
      () => credentials.shift() ?? Promise.reject(new Error('asked too often')),
      nothing,
    );
    await cache.get();
    const [early, sent] = [0, monotonicMs()];
    const refused = [cache.refused(sent), cache.refused(sent)];
    expect(cache.get()).toBe('one');
    next.resolve(credentialOf('two', 60_000));
    expect(await Promise.all(refused)).toEqual([true, true]);
    // A call that was sent with the first, and one that was sent with the second.
    expect([await cache.refused(early), await cache.refused(monotonicMs())]).toEqual([true, false]);
    expect([cache.get(), credentials]).toEqual(['two', []]);
  });

  it('is no other one where the issuer returns the same again, or fails', async () => {
    const credentials = [credentialOf('one', 60_000), credentialOf('one', 60_000)];
    const cache = new CredentialCache(() => {
      const credential = credentials.shift();
      return credential === undefined ? Promise.reject(new Error('none')) : Promise.resolve(credential);
    }, nothing);
    expect(await cache.get()).toBe('one');
    expect(await cache.refused(monotonicMs())).toBe(false);
    expect(credentials).toEqual([]);
    expect(cache.get()).toBe('one');
  });

  it('that is asked for ends when it is closed', async () => {
    const cache = new CredentialCache<string>(
      (signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        }),
      nothing,
    );
    const waiting = cache.get();
    cache.close();
    await expect(waiting).rejects.toThrow('the process stops');
  });
});
