import { auditEntryOf } from '@gatehouse/audited-changes/audit-entry';
import type { RecordChange } from '@gatehouse/audited-changes/changes';
import { newId } from '@gatehouse/kit/ids';
import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { Store } from '@gatehouse/pg/store';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { resumedAtOnce, transferLostMinutes } from '../bounds.ts';
import { copyAgentGuardrails, dropAgentGuardrails } from './agent-guardrails-system-store.ts';
import { showTransfer, type Phase, type Transfer, type TransferJobs } from './transfer.ts';
import { addTransferJob, findTransfer } from './transfer-store.ts';

export const oldTransfers: OldRows = {
  ...{ table: 'tenant.transfers', key: 'id', where: `finished_at < now() - interval '1 year'` },
};

interface TransferStoreOptions {
  jobs: TransferJobs;
  record: RecordChange;
  keyRing: KeyRing;
  raise: RaiseAlert;
}

/** The transfers of all tenants. */
export class TransferSystemStore extends Store {
  readonly #options: TransferStoreOptions;

  /** `pool` acts as `tenant_system`. */
  constructor(pool: Pool, options: TransferStoreOptions) {
    super(pool);
    this.#options = options;
  }

  async find(id: string): Promise<Transfer | null> {
    await this.pool.query('update tenant.transfers set attempted_at = now() where id = $1', [id]);
    return findTransfer(this.pool, id);
  }

  /** Nothing happens if the transfer is in another phase than `from`. */
  async enter(id: string, from: Phase, to: Phase, error: Transfer['error'] = null): Promise<void> {
    await this.pool.query(
      `update tenant.transfers set phase = $3, phase_at = now(), error = $4 where id = $1 and phase = $2`,
      [id, from, to, error === null ? null : JSON.stringify(error)],
    );
  }

  /** Leaves the phase `copying`, with the guardrails of its agents copied: once, whichever replica does it. */
  async enterCopied(transfer: Transfer, to: Phase): Promise<void> {
    await withTransaction(this.pool, async (db) => {
      const isEntered = await db.exists(
        `update tenant.transfers set phase = $2, phase_at = now() where id = $1 and phase = 'copying'`,
        [transfer.id, to],
      );
      if (isEntered) await copyAgentGuardrails(db, transfer, this.#options);
    });
  }

  /** Ends a transfer, with its audit entries and alerts. */
  async finish(transfer: Transfer, to: 'completed' | 'failed'): Promise<void> {
    await withTransaction(this.pool, async (db) => {
      const isEnded = await db.exists(
        `update tenant.transfers set phase = $2, phase_at = now(), finished_at = now()
         where id = $1 and finished_at is null`,
        [transfer.id, to],
      );
      if (!isEnded) return;
      await db.query('delete from tenant.transfer_resources where transfer_id = $1', [transfer.id]);
      if (to === 'failed') await dropAgentGuardrails(db, transfer, this.#options);
      const { id, mode, sourceTenantId, targetTenantId, asked } = transfer;
      const data = {
        ...{ transfer_id: id, mode, status: to },
        ...{ source_tenant_id: sourceTenantId, target_tenant_id: targetTenantId },
      };
      for (const tenantId of [sourceTenantId, targetTenantId]) {
        const after = showTransfer({ ...transfer, phase: to, finishedAt: new Date() }, tenantId);
        const change = { action: 'transfer.finished' as const, id, tenantId, before: null, after };
        await this.#options.record(db, auditEntryOf(change, { ...asked, tenantId }));
        await this.#options.raise(db, { id: newId(), tenant_id: tenantId, type: 'transfer.finished', data });
      }
    });
  }

  /** Adds another job for a transfer. */
  resume(transfer: Transfer): Promise<void> {
    return addTransferJob(this.pool, this.#options.jobs, transfer);
  }

  /** Adds jobs for transfers without a working job. Returns whether there may be more. */
  async resumeLost(): Promise<boolean> {
    return withTransaction(this.pool, async (db) => {
      const rows = await db.all<Pick<Transfer, 'id' | 'sourceTenantId'>>(
        `update tenant.transfers set attempted_at = now() where id = any (array(
           select id from tenant.transfers
           where finished_at is null and attempted_at < now() - make_interval(mins => $1)
           order by attempted_at limit $2 for update skip locked))
         returning id, source_tenant_id as "sourceTenantId"`,
        [transferLostMinutes, resumedAtOnce],
      );
      for (const transfer of rows) await addTransferJob(db, this.#options.jobs, transfer);
      return rows.length === resumedAtOnce;
    });
  }

  /** The longest time of a transfer in its present phase, in seconds, by phase. */
  async oldest(): Promise<Record<string, number>> {
    const rows = await this.pool.all<{
      phase: string;
      seconds: number;
    }>(`select phase, extract(epoch from now() - min(phase_at))::float8 as seconds from tenant.transfers
       where finished_at is null group by phase`);
    return Object.fromEntries(rows.map(({ phase, seconds }) => [phase, Math.max(0, seconds)]));
  }
}
