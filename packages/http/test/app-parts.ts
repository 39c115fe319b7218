import { Verifier } from '@gatehouse/identity/verifier';
import { createLogger } from '@gatehouse/kit/log';
import { httpDuration, Registry } from '@gatehouse/kit/metrics';
import type { TestIdentity } from '@gatehouse/test/identity';
import type { AppOptions } from '../src/app.ts';

/** The parts of an app besides its routes, for tests whose requests have no Idempotency-Key. */
export async function appParts({
  publicKeys,
}: Pick<TestIdentity, 'publicKeys'>): Promise<
  Pick<AppOptions, 'verifier' | 'log' | 'duration' | 'idempotency'>
> {
  return {
    verifier: await Verifier.create(publicKeys),
    log: createLogger('test', 'silent'),
    duration: httpDuration(new Registry()),
    idempotency: { once: () => Promise.reject(new Error('no request here has a key')) },
  };
}
