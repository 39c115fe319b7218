import { Batched } from '@gatehouse/kit/batched';
import { Store } from '@gatehouse/pg/store';
import { loginColumns } from './login-system-store.ts';
import type { Login } from './login.ts';

/** The state of a login, by its hexadecimal hash, and its end. */
interface UsedState {
  hash: string;
  expiresAt: Date;
}

/** Logins by issuers as far as browsers have proved nothing. `pool` acts as `tenant_system`. */
export class LoginStateSystemStore extends Store {
  /** Requests without a key, however many, take one connection. */
  readonly #times = new Batched(async (begun: readonly null[]) => {
    const { now } = await this.pool.one<{ now: Date }>('select clock_timestamp() as now');
    return begun.map(() => now);
  });
  readonly #states = new Batched((states: readonly UsedState[]) => this.#useStates(states));

  /** The login waiting for a choice, made within the last ten minutes. */
  async findByChoice(issuer: string, choiceSha256: Buffer): Promise<Login | null> {
    return this.pool.first<Login>(
      `select ${loginColumns} from tenant.logins
       where choice_sha256 = $1 and issuer = $2 and created_at > now() - interval '10 minutes'`,
      [choiceSha256, issuer],
    );
  }

  /** Uses the state of a login up. False if it was used, on whatever replica, or has expired. */
  useState(stateSha256: Buffer, expiresAt: Date): Promise<boolean> {
    return this.#states.get({ hash: stateSha256.toString('hex'), expiresAt });
  }

  async #useStates(states: readonly UsedState[]): Promise<boolean[]> {
    const rows = await this.pool.all<{ hash: string }>(
      `insert into tenant.used_tokens (token_sha256, expires_at)
       select distinct on (hash) decode(hash, 'hex'), expires_at
       from unnest($1::text[], $2::timestamptz[]) as states (hash, expires_at)
       where expires_at > now() order by hash
       on conflict do nothing returning encode(token_sha256, 'hex') as hash`,
      [states.map(({ hash }) => hash), states.map(({ expiresAt }) => expiresAt)],
    );
    const used = new Set(rows.map(({ hash }) => hash));
    // One of several in the same batch.
    return states.map(({ hash }) => used.delete(hash));
  }

  /** The time by the clock of the database. */
  now(): Promise<Date> {
    return this.#times.get(null);
  }
}
