import { maxOverrides, type PolicyPer } from '@gatehouse/contract/policies';
import { AppError } from '@gatehouse/kit/errors';
import type { PageRequest, PageRows } from '@gatehouse/kit/page';
import { isUniqueViolation } from '@gatehouse/pg/errors';
import type { Changed, Queryable } from '@gatehouse/pg/pool';
import { hasName, hasShownName, isHolders, shownToHolder, type HeldName } from '../shared/holder.ts';
import { groupPrefix, type NewOverride, type Override, type Policy, type PolicySettings } from './policy.ts';
import type { PolicyWithOverrides } from './policy-views.ts';

/**
 * Statements on policies. Those of a tenant are changed on a connection of `tenant_app`, those of the owner, whose
 * tenant is null, on one of `tenant_system`.
 */

const policyColumns = `
  id, tenant_id as "tenantId", tenants, name, selection, per, limits, budget, alerts, enforce, enabled,
  counts_since as "countsSince", created_at as "createdAt", updated_at as "updatedAt"`;

/** Newest first. A tenant also sees the owner's for it. A page has a bounded number of overrides. */
export async function listPolicies(
  db: Queryable,
  tenantId: string | null,
  page: PageRequest,
): Promise<PageRows<PolicyWithOverrides>> {
  const rows = await db.all<Policy>(
    `select ${policyColumns} from tenant.policies
     where ${shownToHolder} and ($2::uuid is null or id < $2) order by id desc limit $3`,
    [tenantId, page.before, page.limit + 1],
  );
  const policies = await withOverrides(db, rows.slice(0, page.limit));
  return {
    rows: policies,
    more: rows.length > page.limit || policies.length < Math.min(rows.length, page.limit),
  };
}

/** Finds one by its id or name; a tenant also the owner's, by `owner:<name>`. */
export async function findPolicy(
  db: Queryable,
  { tenantId, idOrName }: HeldName,
): Promise<PolicyWithOverrides | null> {
  const row = await db.first<Policy>(
    `select ${policyColumns} from tenant.policies
     where ${shownToHolder} and ${hasShownName}`,
    [tenantId, idOrName],
  );
  return row === null ? null : ((await withOverrides(db, [row]))[0] ?? null);
}

/** The kind of a policy's values, which never changes; null without one, and where there is no such policy. */
export async function findPer(db: Queryable, { tenantId, idOrName }: HeldName): Promise<PolicyPer | null> {
  const row = await db.first<{ per: PolicyPer | null }>(
    `select per from tenant.policies where ${isHolders} and ${hasName}`,
    [tenantId, idOrName],
  );
  return row?.per ?? null;
}

/** Locks the policy, and updates it to its settings after `change`. Throws `policy_name_taken`. */
export async function changePolicy(
  db: Queryable,
  policy: HeldName,
  change: (current: Policy) => { settings: PolicySettings; countsAgain: boolean },
): Promise<Changed<PolicyWithOverrides> | null> {
  const locked = await lockPolicy(db, policy);
  const [before] = locked === null ? [] : await withOverrides(db, [locked]);
  if (before === undefined) return null;
  const { settings, countsAgain } = change(before);
  const after = await db
    .one<Policy>(
      `update tenant.policies set tenants = $2, name = $3, selection = $4, per = $5, limits = $6, budget = $7,
         alerts = $8, enforce = $9, enabled = $10, updated_at = now(),
         counts_since = case when $11 then now() else counts_since end
       where id = $1 returning ${policyColumns}`,
      [before.id, ...settingValues(settings), countsAgain],
    )
    .catch((error: unknown) => nameConflict(error, settings.name));
  return { before, after: { ...after, overrides: before.overrides } };
}

/** Inserts a policy with the sealed key of its counters. Throws `limit_reached`, and `policy_name_taken`. */
export async function insertPolicy(
  db: Queryable,
  policy: PolicySettings & { id: string; tenantId: string | null; counterKey: Buffer },
  most: number,
): Promise<Policy> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `policies ${policy.tenantId ?? ''}`,
  ]);
  const { count } = await db.one<{ count: number }>(
    `select count(*)::integer as count from tenant.policies where ${isHolders}`,
    [policy.tenantId],
  );
  if (count >= most) throw new AppError('limit_reached', `There are at most ${most} policies. Delete some.`);
  return db
    .one<Policy>(
      `insert into tenant.policies
         (id, tenants, name, selection, per, limits, budget, alerts, enforce, enabled, tenant_id,
          counter_key)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning ${policyColumns}`,
      [policy.id, ...settingValues(policy), policy.tenantId, policy.counterKey],
    )
    .catch((error: unknown) => nameConflict(error, policy.name));
}

/** Has all counters of a policy begin a new window. */
export async function resetCounters(db: Queryable, policyId: string): Promise<void> {
  await db.query('update tenant.policies set counts_since = now(), updated_at = now() where id = $1', [
    policyId,
  ]);
}

/** Ends the windows of one value, or of a group by its id, in all tenants of a policy: the next calls begin new ones. */
export async function resetCounter(db: Queryable, policyId: string, value: string): Promise<void> {
  const isOpen = `policy_id = $1 and value = $2 and resource <> 'concurrency'
    and (window_end is null or window_end > clock_timestamp())`;
  // In the order of leases.
  await db.query(`select from tenant.policy_counters where ${isOpen} order by id, resource for update`, [
    policyId,
    value,
  ]);
  await db.query(
    `update tenant.policy_counters set window_end = greatest(
       date_trunc('milliseconds', clock_timestamp()), window_start + interval '1 millisecond') where ${isOpen}`,
    [policyId, value],
  );
}

/** Deletes a policy with its overrides. Null without one. */
export async function deletePolicy(db: Queryable, name: HeldName): Promise<PolicyWithOverrides | null> {
  const locked = await lockPolicy(db, name);
  const [policy] = locked === null ? [] : await withOverrides(db, [locked]);
  if (policy === undefined) return null;
  await db.query('delete from tenant.policies where id = $1', [policy.id]);
  return policy;
}

/** Locks a policy of the holder; null without one. */
export async function lockPolicy(db: Queryable, { tenantId, idOrName }: HeldName): Promise<Policy | null> {
  return db.first<Policy>(
    `select ${policyColumns} from tenant.policies
     where ${isHolders} and ${hasName} for update`,
    [tenantId, idOrName],
  );
}

/** Finds one override. */
export async function findOverride(db: Queryable, policyId: string, value: string): Promise<Override | null> {
  const row = await db.first<OverrideRow>(
    `select ${overrideColumns} from tenant.policy_overrides where policy_id = $1 and value = $2`,
    [policyId, value],
  );
  return row === null ? null : overrideOf(row);
}

/** Inserts overrides, or puts them in place of those of the same values. */
export async function putOverrides(
  db: Queryable,
  { id, tenantId }: Pick<Policy, 'id' | 'tenantId'>,
  overrides: Readonly<Record<string, NewOverride>>,
): Promise<void> {
  const entries = Object.entries(overrides);
  await db.query(
    `insert into tenant.policy_overrides (policy_id, tenant_id, value, label, amounts, until, note)
     select $1, $2, o.value, o.label, o.amounts, o.until, o.note
     from unnest($3::text[], $4::text[], $5::jsonb[], $6::timestamptz[], $7::text[])
       as o (value, label, amounts, until, note)
     on conflict (policy_id, value) do update
       set label = excluded.label, amounts = excluded.amounts, until = excluded.until, note = excluded.note, updated_at = now()`,
    [
      ...[id, tenantId, entries.map(([value]) => value), entries.map(([, { label }]) => label)],
      entries.map(([, { budget_usd, limits }]) => JSON.stringify({ budget_usd, limits })),
      ...[entries.map(([, { until }]) => until), entries.map(([, { note }]) => note)],
    ],
  );
  await db.query(
    `update tenant.policies p set overridden = array(
       select distinct l.key from tenant.policy_overrides o
       cross join lateral jsonb_each_text(
         case jsonb_typeof(o.amounts -> 'limits') when 'object' then o.amounts -> 'limits' else '{}' end) l
       where o.policy_id = p.id and l.value is not null)
     where id = $1`,
    [id],
  );
}

/** Throws `limit_reached` for a policy with too many overrides. */
export async function assertFewOverrides(db: Queryable, policyId: string): Promise<void> {
  const { count } = await db.one<{ count: number }>(
    'select count(*)::integer as count from tenant.policy_overrides where policy_id = $1',
    [policyId],
  );
  if (count > maxOverrides)
    throw new AppError('limit_reached', `A policy has at most ${maxOverrides} overrides. Delete some.`);
}

/** Deletes all overrides of a policy. */
export async function deleteOverrides(db: Queryable, policyId: string): Promise<void> {
  await db.query('delete from tenant.policy_overrides where policy_id = $1', [policyId]);
}

/** Deletes an override; null without one. */
export async function deleteOverride(
  db: Queryable,
  policyId: string,
  value: string,
): Promise<Override | null> {
  const row = await db.first<OverrideRow>(
    `delete from tenant.policy_overrides where policy_id = $1 and value = $2 returning ${overrideColumns}`,
    [policyId, value],
  );
  return row === null ? null : overrideOf(row);
}

/** The IANA time zone of a tenant's windows. */
export async function findBudgetZone(db: Queryable, tenantId: string): Promise<string> {
  const { zone } = await db.one<{ zone: string }>(
    'select tenant.timezone_or_utc(budget_timezone) as zone from tenant.tenants where id = $1',
    [tenantId],
  );
  return zone;
}

interface OverrideRow extends Pick<Override, 'value' | 'until' | 'note'> {
  policyId: string;
  amounts: Pick<Override, 'budget_usd' | 'limits'>;
}

const overrideColumns = `policy_id as "policyId", value, amounts, until, note`;

/**
 * The policies with their overrides, without the last ones if all of them have too many. Groups in the directory have
 * their present names, others the ones sent.
 */
export async function withOverrides(
  db: Queryable,
  policies: readonly Policy[],
): Promise<PolicyWithOverrides[]> {
  if (policies.length === 0) return [];
  const rows = await db.all<OverrideRow>(
    `select o.policy_id as "policyId", coalesce(named.prefix || g.name, o.label, o.value) as value, o.amounts, o.until,
       o.note
     from (
       select policy_id, tenant_id, value, label, amounts, until, note from tenant.policy_overrides
       where policy_id = any ($1::uuid[]) order by policy_id desc, value limit $2
     ) as o cross join lateral (
       select case per when 'group' then '' when 'user' then '${groupPrefix}' end as prefix
       from tenant.policies where id = o.policy_id limit 1
     ) as named left join lateral (
       select name from tenant.groups
       where tenant_id = o.tenant_id and starts_with(o.value, named.prefix)
         and folded = substr(o.value, length(named.prefix) + 1) collate "C" limit 1
     ) as g on true order by o.policy_id desc, o.value`,
    [policies.map(({ id }) => id), maxOverrides + 1],
  );
  // The last policy with a row may have more of them.
  const last = rows.length > maxOverrides ? rows.at(-1)?.policyId : undefined;
  const known = last === undefined ? policies : policies.filter(({ id }) => id > last);
  const byPolicy = Map.groupBy(rows, ({ policyId }) => policyId);
  return known.map((policy) => ({ ...policy, overrides: (byPolicy.get(policy.id) ?? []).map(overrideOf) }));
}

function overrideOf({ value, amounts, until, note }: OverrideRow): Override {
  return { value, ...amounts, until, note };
}

function settingValues(settings: PolicySettings): unknown[] {
  const { tenants, name, selection, per, limits, budget, alerts, enforce, enabled } = settings;
  return [tenants, name, selection, per, limits, budget, alerts, enforce, enabled];
}

function nameConflict(error: unknown, name: string): never {
  if (!isUniqueViolation(error, 'policies_name_key')) throw error;
  throw new AppError('policy_name_taken', `There is another policy with the name ${name}.`, {
    param: 'name',
    cause: error,
  });
}
