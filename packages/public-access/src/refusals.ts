import { credentialRefusedHeader } from '@gatehouse/http/credential-refused';
import type { PeriodicWork } from '@gatehouse/kit/background-loop';
import { Batched } from '@gatehouse/kit/batched';
import { networkOf } from '@gatehouse/kit/client-network';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { countRefusals, oldRefusals, type CountedRefusal } from './store/refusal-system-store.ts';

/**
 * The missing proof of a request. Each kind has a count of its own, so wrong requests of one kind take nothing from
 * another one.
 */
export type RefusalKind =
  | 'choice'
  | 'consent_state'
  | 'device_code'
  | 'early_poll'
  | 'key'
  | 'login_link'
  | 'logout_token'
  | 'program_decision'
  | 'signature'
  | 'ticket'
  | 'user_code';

export interface RefusalsOptions {
  /** Its schema has the table `refused_addresses`. */
  service: string;
  /** A pool of `<service>_system`. */
  system: Pool;
  log: Logger;
}

const perMinute = 60;
const maxSenders = 10_000;
/** The errors beyond the limit of kinds with genuine requests. */
const messages: Partial<Record<RefusalKind, string>> = {
  early_poll: 'Too many polls came too early.',
  program_decision: 'Too many decisions were made with this key.',
};

/**
 * Limits requests without proof of being genuine, per kind, address and minute and over all replicas. Count a request
 * after its proof has failed, never before: genuine ones of the same address pass, because people and senders of many
 * tenants share addresses.
 */
export class Refusals {
  /** Senders over their limit, until their minute ends: they are not counted further. */
  readonly #over = new Map<string, number>();
  /** Refusals of any number of senders take one connection. */
  readonly #counting: Batched<string, CountedRefusal>;
  /** Deletes old counts. */
  readonly parts: PeriodicWork[];

  constructor({ service, system, log }: RefusalsOptions) {
    this.#counting = new Batched((senders) => countRefusals(system, service, senders));
    this.parts = cleanUp(log, system, [oldRefusals(service)]);
  }

  /** Throws `signature_invalid`, or `rate_limit_exceeded` after too many false requests of the address. */
  async refuse(address: string | null, message: string): Promise<never> {
    await this.count('signature', address);
    throw new AppError('signature_invalid', message, { headers: { [credentialRefusedHeader]: 'true' } });
  }

  /**
   * Counts a false request against its address, or against another text naming its sender. Throws `rate_limit_exceeded`
   * beyond the limit.
   */
  async count(kind: RefusalKind, sender: string | null): Promise<void> {
    const key = `${kind} ${networkOf(sender ?? '')}`;
    const until = this.#over.get(key) ?? 0;
    if (until > monotonicMs()) throw tooMany(kind, until - monotonicMs());
    this.#over.delete(key);
    const { requests, endsInMs } = await this.#counting.get(key);
    if (requests <= perMinute) return;
    const [oldest] = this.#over.keys();
    if (this.#over.size >= maxSenders && oldest !== undefined) this.#over.delete(oldest);
    this.#over.set(key, monotonicMs() + endsInMs);
    throw tooMany(kind, endsInMs);
  }
}

function tooMany(kind: RefusalKind, retryAfterMs: number): AppError {
  const message = messages[kind] ?? 'Too many requests of this sender were not genuine.';
  return new AppError('rate_limit_exceeded', message, { retryAfterMs });
}
