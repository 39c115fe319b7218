import { isBuiltIn } from '@gatehouse/contract/guardrail-checks';
import { maxGuardrails } from '@gatehouse/contract/guardrails';
import { AppError } from '@gatehouse/kit/errors';
import type { PageRequest } from '@gatehouse/kit/page';
import { isUniqueViolation } from '@gatehouse/pg/errors';
import type { Changed, Queryable } from '@gatehouse/pg/pool';
import { hasName, hasShownName, isHolders, shownToHolder, type HeldName } from '../shared/holder.ts';
import type { Guardrail, GuardrailSettings } from './guardrail.ts';

/**
 * Statements on guardrails. Those of a tenant are changed on a connection of `tenant_app`, those of the owner, whose
 * tenant is null, on one of `tenant_system`.
 */

const guardrailColumns = `
  id, tenant_id as "tenantId", tenants, name, selection, definition, enabled, created_at as "createdAt",
  updated_at as "updatedAt"`;

/** The columns of a guardrail written by clients, with sealed credentials. */
export interface GuardrailRow extends GuardrailSettings {
  secrets: Buffer | 'unchanged' | null;
}

/** Newest first. A tenant also sees the owner's for it. */
export async function listGuardrails(
  db: Queryable,
  tenantId: string | null,
  page: PageRequest,
): Promise<Guardrail[]> {
  return db.all<Guardrail>(
    `select ${guardrailColumns} from tenant.guardrails
     where ${shownToHolder} and ($2::uuid is null or id < $2) order by id desc limit $3`,
    [tenantId, page.before, page.limit + 1],
  );
}

/** Finds one by its id or name; a tenant also the owner's, by `owner:<name>`. */
export async function findGuardrail(
  db: Queryable,
  { tenantId, idOrName }: HeldName,
): Promise<Guardrail | null> {
  return db.first<Guardrail>(
    `select ${guardrailColumns} from tenant.guardrails
     where ${shownToHolder} and ${hasShownName}`,
    [tenantId, idOrName],
  );
}

/** Inserts a guardrail. Throws `limit_reached`, and `guardrail_name_taken`. */
export async function insertGuardrail(
  db: Queryable,
  guardrail: GuardrailRow & { id: string; tenantId: string | null },
): Promise<Guardrail> {
  const { id, tenantId, secrets } = guardrail;
  await assertRoom(db, guardrail);
  return db
    .one<Guardrail>(
      `insert into tenant.guardrails
         (id, tenants, name, selection, definition, asks_outside, enabled, tenant_id, secrets)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning ${guardrailColumns}`,
      [id, ...settingValues(guardrail), tenantId, secrets === 'unchanged' ? null : secrets],
    )
    .catch((error: unknown) => nameConflict(error, guardrail.name));
}

/** Locks the guardrail, and updates it to the result of `change`. Throws as `insertGuardrail` does. */
export async function changeGuardrail(
  db: Queryable,
  name: HeldName,
  change: (current: Guardrail) => GuardrailRow,
): Promise<Changed<Guardrail> | null> {
  const before = await lockGuardrail(db, name);
  if (before === null) return null;
  const { id, tenantId } = before;
  const row = change(before);
  if (asksOutside(row) && !asksOutside(before)) await assertRoom(db, { ...row, id, tenantId });
  const after = await db
    .one<Guardrail>(
      `update tenant.guardrails set tenants = $2, name = $3, selection = $4, definition = $5, asks_outside = $6,
         enabled = $7, secrets = case when $8 then secrets else $9 end, version = version + 1, updated_at = now()
       where id = $1 returning ${guardrailColumns}`,
      [
        id,
        ...settingValues(row),
        row.secrets === 'unchanged',
        row.secrets === 'unchanged' ? null : row.secrets,
      ],
    )
    .catch((error: unknown) => nameConflict(error, row.name));
  return { before, after };
}

/** Deletes a guardrail. Null without one. */
export async function deleteGuardrail(db: Queryable, name: HeldName): Promise<Guardrail | null> {
  const guardrail = await lockGuardrail(db, name);
  if (guardrail !== null) await db.query('delete from tenant.guardrails where id = $1', [guardrail.id]);
  return guardrail;
}

/** Deletes the guardrails of a tenant that select nothing but one of these agents. */
export async function deleteAgentGuardrails(
  db: Queryable,
  tenantId: string,
  agentIds: readonly string[],
): Promise<Guardrail[]> {
  return db.all<Guardrail>(
    `delete from tenant.guardrails where tenant_id = $1
       and selection = any (array(select jsonb_build_object('agents', jsonb_build_array(id)) from unnest($2::text[]) as t (id)))
     returning ${guardrailColumns}`,
    [tenantId, agentIds],
  );
}

async function lockGuardrail(db: Queryable, { tenantId, idOrName }: HeldName): Promise<Guardrail | null> {
  return db.first<Guardrail>(
    `select ${guardrailColumns} from tenant.guardrails
     where ${isHolders} and ${hasName} for update`,
    [tenantId, idOrName],
  );
}

/** Throws `limit_reached` if the holder has too many others. Its further ones wait until the transaction ends. */
async function assertRoom(
  db: Queryable,
  guardrail: GuardrailSettings & { id: string; tenantId: string | null },
): Promise<void> {
  const { id, tenantId } = guardrail;
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`guardrails ${tenantId ?? ''}`]);
  const { count, outside } = await db.one<{ count: number; outside: number }>(
    `select count(*)::integer as count, (count(*) filter (where asks_outside))::integer as outside
     from tenant.guardrails where ${isHolders} and id <> $2`,
    [tenantId, id],
  );
  const { askingOutside } = maxGuardrails;
  const most = tenantId === null ? maxGuardrails.ofOwner : maxGuardrails.ofTenant;
  if (count >= most)
    throw new AppError('limit_reached', `There are at most ${most} guardrails. Delete some.`);
  if (asksOutside(guardrail) && outside >= askingOutside)
    throw new AppError(
      'limit_reached',
      `At most ${askingOutside} guardrails ask a model or a server. Delete some.`,
      { param: 'check.type' },
    );
}

function asksOutside({ definition }: GuardrailSettings): boolean {
  return !isBuiltIn(definition.check);
}

function settingValues(settings: GuardrailSettings): unknown[] {
  const { tenants, name, selection, definition, enabled } = settings;
  return [tenants, name, selection, definition, asksOutside(settings), enabled];
}

function nameConflict(error: unknown, name: string): never {
  if (!isUniqueViolation(error, 'guardrails_name_key')) throw error;
  throw new AppError('guardrail_name_taken', `There is another guardrail with the name ${name}.`, {
    param: 'name',
    cause: error,
  });
}
