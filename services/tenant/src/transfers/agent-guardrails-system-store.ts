import { auditEntryOf } from '@gatehouse/audited-changes/audit-entry';
import type { RecordChange } from '@gatehouse/audited-changes/changes';
import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import { openGuardrailSecrets, sealGuardrailSecrets } from '@gatehouse/secrets/guardrail-secrets';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { itemsOf, type TransferItem } from '@gatehouse/transfers/transfer';
import type { Guardrail } from '../guardrails/guardrail.ts';
import { deleteAgentGuardrails, insertGuardrail } from '../guardrails/guardrail-store.ts';
import { showGuardrail } from '../guardrails/guardrail-views.ts';
import type { Transfer } from './transfer.ts';

/** Guardrails selecting nothing but an agent of a transfer. */

interface AgentGuardrail extends Pick<Guardrail, 'id' | 'name' | 'definition' | 'enabled'> {
  secrets: Buffer | null;
}

export interface CopyDependencies {
  keyRing: KeyRing;
  record: RecordChange;
}

const maxNameChars = 64;

/**
 * Copies them to the target, where they select the agent by its id: before the agent is there, so it is never without
 * them. Throws `limit_reached`.
 */
export async function copyAgentGuardrails(
  db: Queryable,
  transfer: Transfer,
  dependencies: CopyDependencies,
): Promise<void> {
  for (const item of itemsOf(transfer, 'agent'))
    for (const guardrail of await guardrailsOf(db, transfer.sourceTenantId, item))
      await copy(db, transfer, { item, guardrail, ...dependencies });
}

async function guardrailsOf(
  db: Queryable,
  tenantId: string,
  { id, name }: TransferItem,
): Promise<AgentGuardrail[]> {
  return db.all<AgentGuardrail>(
    `select id, name, definition, enabled, secrets from tenant.guardrails
     where tenant_id = $1 and selection - 'agents' = '{}' and selection -> 'agents' <@ jsonb_build_array($2::text, $3::text)
     order by id`,
    [tenantId, id, name],
  );
}

async function copy(
  db: Queryable,
  transfer: Transfer,
  { item, guardrail, keyRing, record }: CopyDependencies & { item: TransferItem; guardrail: AgentGuardrail },
): Promise<void> {
  const { targetTenantId: tenantId, withSecrets } = transfer;
  const id = newId();
  const { definition, enabled } = guardrail;
  const sealed = withSecrets ? guardrail.secrets : null;
  const secrets =
    sealed === null
      ? null
      : sealGuardrailSecrets(keyRing, { id }, openGuardrailSecrets(keyRing, guardrail, sealed));
  const made = await insertGuardrail(db, {
    ...{ id, tenantId, tenants: null, enabled, secrets },
    name: await freeName(db, tenantId, guardrail.name),
    selection: { agents: [item.targetId] },
    definition: guardrail.secrets !== null && secrets === null ? withoutAuth(definition) : definition,
  });
  const change = {
    action: 'guardrail.created' as const,
    id,
    tenantId,
    before: null,
    after: showGuardrail(made),
  };
  await record(db, auditEntryOf(change, { ...transfer.asked, tenantId }));
}

/** Without its credentials, the server of the check may refuse it: then the guardrail does what `on_error` says. */
function withoutAuth(definition: Guardrail['definition']): Guardrail['definition'] {
  const { check } = definition;
  if (check.type === 'presidio') return { ...definition, check: { ...check, auth: { type: 'none' } } };
  return check.type === 'webhook'
    ? { ...definition, check: { ...check, auth: { type: 'none' } } }
    : definition;
}

async function freeName(db: Queryable, tenantId: string, name: string): Promise<string> {
  const rows = await db.all<{ name: string }>('select name from tenant.guardrails where tenant_id = $1', [
    tenantId,
  ]);
  const taken = new Set(rows.map((row) => row.name));
  for (let number = 2, free = name; ; number += 1) {
    if (!taken.has(free)) return free;
    const end = `-${number}`;
    free = `${name.slice(0, maxNameChars - end.length)}${end}`;
  }
}

/** Deletes the copies of an undone transfer, with an audit entry for each: their agents never came. */
export async function dropAgentGuardrails(
  db: Queryable,
  transfer: Transfer,
  { record }: Pick<CopyDependencies, 'record'>,
): Promise<void> {
  const { targetTenantId: tenantId } = transfer;
  const ids = itemsOf(transfer, 'agent').map(({ targetId }) => targetId);
  for (const guardrail of await deleteAgentGuardrails(db, tenantId, ids)) {
    const { id } = guardrail;
    const change = { action: 'guardrail.deleted' as const, id, tenantId, after: null };
    const by = { ...transfer.asked, tenantId };
    await record(db, auditEntryOf({ ...change, before: showGuardrail(guardrail) }, by));
  }
}
