import { monotonicMs } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import type { UnreadGroups } from '../issuers/grants.ts';

const everyMs = 10 * 60_000;

/** Raises `issuer.groups_unreadable` for an issuer, every ten minutes at most, however many people it is about. */
export class UnreadGroupsReport {
  readonly #system: Pool;
  readonly #raise: RaiseAlert;
  readonly #now: () => number;
  /** When it was raised last for an issuer; issuers are those of the settings. */
  readonly #raisedAt = new Map<string, number>();

  /** `system` acts as `tenant_system`. */
  constructor(system: Pool, raise: RaiseAlert, now: () => number = monotonicMs) {
    this.#system = system;
    this.#raise = raise;
    this.#now = now;
  }

  async report(issuer: string, { kind }: UnreadGroups): Promise<void> {
    const now = this.#now();
    if (now - (this.#raisedAt.get(issuer) ?? -everyMs) < everyMs) return;
    const event = { id: newId(), tenant_id: null, type: 'issuer.groups_unreadable' } as const;
    await withTransaction(this.#system, (db) =>
      this.#raise(db, { ...event, data: { issuer, problem: kind } }),
    );
    this.#raisedAt.set(issuer, now);
  }
}
