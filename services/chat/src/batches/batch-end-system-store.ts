import type { NewAlert } from '@gatehouse/events/alert-event';
import { entryPartition } from '@gatehouse/events/store/entry-outbox';
import { textArray } from '@gatehouse/pg/arrays';
import type { Pool } from '@gatehouse/pg/pool';
import { pgJson } from '../shared/pg-json.ts';
import { chargeOf } from '../runs/charge.ts';
import { runEnding, withoutUser } from '../runs/run-record.ts';
import type { Attempt, RunEnd } from '../runs/run.ts';
import { forgottenAfter } from '../shared/forgotten-user-store.ts';
import type { LeasedBatch } from './batch-lease-system-store.ts';
import type { StoredFile } from './file-store.ts';

export interface BatchEnd {
  end: RunEnd;
  attempt: Attempt;
  alerts: readonly NewAlert[];
  /** How the provider describes the batch, encrypted; null where it never did. */
  content: Buffer | null;
  /** Its results, as far as there are some. */
  output: StoredFile | null;
  errors: StoredFile | null;
  /** Results for no client, to be deleted at the provider next. */
  left: readonly StoredFile[];
}

/**
 * Commits the end of a batch by the holder of its lease, in one statement: with the event of its run, the difference
 * between its cost and what was charged at its start, its results and its alerts. So it is priced once, and its results
 * can be read once it is. Returns false if the lease is lost.
 */
export function endBatch(
  pool: Pool,
  { id, leaseId, run }: Pick<LeasedBatch, 'id' | 'leaseId' | 'run'>,
  { end, attempt, alerts, content, output, errors, left }: BatchEnd,
): Promise<boolean> {
  const files = [output, errors, ...left].filter((file) => file !== null);
  return pool.exists(
    `with ended as (
       update chat.batches set ended_at = now(), lease_id = null,
         content = case when not forgotten then coalesce($4, content) end, output_file_id = $5, error_file_id = $6,
         expires_at = now() + make_interval(days => case when forgotten then 0 else days end)
       where id = $1 and lease_id = $2 and ended_at is null
       returning id, tenant_id, user_id, user_digest, charges, reserved_pico, created_at, days, provider, key_id,
         own_key_id, forgotten, input_file_id
     ), freed as (
       -- It had waited for this.
       update chat.files set due_at = now() from ended
       where chat.files.id = ended.input_file_id and chat.files.deleted_at is not null and tries = 0
     ), events as (
       insert into chat.outbox (tenant_id, run_id, started_at, ended_at, data)
       select tenant_id, id, created_at, case when pg_current_xact_id() is not null then clock_timestamp() end,
              case when forgotten or ${forgottenAfter('ended.tenant_id', 'ended.user_digest', 'ended.created_at')}
                then ($3::text::jsonb || '${withoutUser}')::text else $3::text end
       from ended
     ), costs as (
       insert into chat.run_costs (tenant_id, holder_id, charges, cost_pico)
       -- No instance has this id, so any replica settles it, and what it holds of budgets stays.
       -- Without a price, at least what was reserved.
       select tenant_id, id, charges, charge_pico - reserved_pico
       from ended cross join lateral (
         select case when $16::boolean then $7::bigint else greatest($7::bigint, reserved_pico) end as charge_pico
       ) c
       where charges is not null and charge_pico <> reserved_pico
     ), results as (
       insert into chat.files (id, tenant_id, user_id, purpose, provider, key_id, own_key_id, provider_file_id,
         content, created_at, expires_at, deleted_at, due_at)
       select f.id, tenant_id, user_id, f.purpose, provider, key_id, own_key_id, f.provider_file_id,
              f.content, created_at, now() + make_interval(days => days), case when forgotten or f.is_left then now() end,
              case when forgotten or f.is_left then now() end
       from ended cross join unnest($8::uuid[], $9::text[], $10::bytea[], $14::text[], $15::boolean[])
         as f (id, provider_file_id, content, purpose, is_left)
     ), raised as (
       insert into chat.alert_outbox (partition, tenant_id, entry)
       select a.partition, a.tenant_id, a.entry::json
       from ended cross join unnest($11::integer[], $12::uuid[], $13::text[]) as a (partition, tenant_id, entry)
     )
     select id from ended`,
    [
      ...[id, leaseId, pgJson({ ...run, ...runEnding(run, end, [attempt]) }), content],
      ...[output?.id ?? null, errors?.id ?? null, chargeOf(end)],
      files.map((file) => file.id),
      textArray(files.map((file) => file.providerFileId)),
      files.map((file) => file.content),
      alerts.map((alert) => entryPartition(alert.tenant_id)),
      alerts.map((alert) => alert.tenant_id),
      textArray(alerts.map((alert) => pgJson(alert))),
      textArray(files.map((file) => file.purpose)),
      files.map((file) => left.includes(file)),
      end.cost.priced,
    ],
  );
}
