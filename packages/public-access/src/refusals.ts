import { credentialRefusedHeader } from '@gatehouse/http/credential-refused';
import { inBatches, PeriodicWork } from '@gatehouse/kit/background-loop';
import { Batched } from '@gatehouse/kit/batched';
import { networkOf } from '@gatehouse/kit/client-network';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { retryAfterHeaders } from '@gatehouse/kit/retry-after';
import type { Pool } from '@gatehouse/pg/pool';
import {
  countRefusals,
  deleteOldRefusals,
  uncountRefusal,
  type CountedRefusal,
} from './store/refusal-system-store.ts';

export interface RefusalsOptions {
  /** Its schema has the table `refused_addresses`. */
  service: string;
  /** A pool of `<service>_system`. */
  system: Pool;
  log: Logger;
}

const perMinute = 60;
const deletion = { everyMs: 60_000, batch: 1_000 };
const maxAddresses = 10_000;

/**
 * Limits requests that are not genuine, per address and minute and over all replicas. Genuine ones of the same address
 * pass: senders of many tenants share addresses.
 */
export class Refusals {
  /** Addresses over their limit, until their minute ends: they are not counted further. */
  readonly #over = new Map<string, number>();
  /** Refusals of any number of networks take one connection. */
  readonly #counting: Batched<string, CountedRefusal>;
  readonly #deleting: PeriodicWork;
  readonly #options: Pick<RefusalsOptions, 'service' | 'system'>;

  constructor({ service, system, log }: RefusalsOptions) {
    this.#counting = new Batched((networks) => countRefusals(system, service, networks));
    this.#options = { service, system };
    this.#deleting = new PeriodicWork({
      task: 'delete old counts of refused requests',
      log,
      everyMs: deletion.everyMs,
      round: inBatches(deletion.batch, (limit) => deleteOldRefusals(system, service, limit)),
    });
  }

  start(): void {
    this.#deleting.start();
  }

  async stop(): Promise<void> {
    await this.#deleting.stop();
  }

  /** Throws `signature_invalid`, or `rate_limit_exceeded` if the address has sent too many that are not genuine. */
  async refuse(address: string | null, message: string): Promise<never> {
    await this.count(address);
    throw new AppError('signature_invalid', message, { headers: { [credentialRefusedHeader]: 'true' } });
  }

  /** Counts a request that was not genuine. Throws `rate_limit_exceeded` beyond the limit. */
  async count(address: string | null): Promise<void> {
    const key = networkOf(address ?? '');
    const until = this.#over.get(key) ?? 0;
    if (until > monotonicMs()) throw tooMany(until - monotonicMs());
    this.#over.delete(key);
    const { requests, endsInMs } = await this.#counting.get(key);
    if (requests <= perMinute) return;
    const [oldest] = this.#over.keys();
    if (this.#over.size >= maxAddresses && oldest !== undefined) this.#over.delete(oldest);
    this.#over.set(key, monotonicMs() + endsInMs);
    throw tooMany(endsInMs);
  }

  /**
   * Takes the count of a request back that has proven to be genuine. Count a request before work that it causes without
   * a proof, so that those beyond the limit cause none.
   */
  async takeBack(address: string | null): Promise<void> {
    const { service, system } = this.#options;
    await uncountRefusal(system, service, networkOf(address ?? ''));
  }
}

function tooMany(retryAfterMs: number): AppError {
  return new AppError('rate_limit_exceeded', 'Too many requests of this address were not genuine.', {
    headers: retryAfterHeaders(retryAfterMs),
  });
}
