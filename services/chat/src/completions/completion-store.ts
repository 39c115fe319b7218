import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { tenantDb } from '@gatehouse/pg/store';

/** A call of `Complete` about to be worked on. */
export interface CompletionClaim {
  tenantId: string;
  callId: string;
  claimId: string;
  /** The process working on it. */
  instanceId: string;
  /** SHA-256 of the whole definition of the request. */
  fingerprint: Buffer;
  userId: string | null;
}

/** An earlier call with the same id. */
export interface StoredCompletion {
  claim_id: string;
  fingerprint: Buffer;
  /** Encrypted; null while the call is in progress. */
  answer: Buffer | null;
  /** Whether it ended without an answer after a tool call not to be repeated. */
  is_over: boolean;
}

/** Claims a call id. Returns null on success, otherwise its earlier use. Takes over expired and dead claims. */
export async function claimCompletion(
  pool: Pool,
  claim: CompletionClaim,
  claimSeconds: number,
): Promise<StoredCompletion | null> {
  const { tenantId, callId, claimId, fingerprint } = claim;
  return withTenant(pool, tenantId, async (db) => {
    const { rowCount } = await db.query(
      `insert into chat.completions as known
       (tenant_id, call_id, claim_id, instance_id, fingerprint, user_id, expires_at)
     values ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))
     on conflict (tenant_id, call_id) do update
       set claim_id = excluded.claim_id, instance_id = excluded.instance_id, fingerprint = excluded.fingerprint,
           user_id = excluded.user_id, answer = null, created_at = excluded.created_at,
           expires_at = excluded.expires_at
       where known.expires_at <= now() or (known.answer is null and not known.acted and not exists (
         select from chat.instances i where i.id = known.instance_id and i.dead_at is null))`,
      [tenantId, callId, claimId, claim.instanceId, fingerprint, claim.userId, claimSeconds],
    );
    if (rowCount === 1) return null;
    const { rows } = await db.query<StoredCompletion>(
      `select claim_id, fingerprint, answer, acted and answer is null and not exists (
       select from chat.instances i where i.id = instance_id and i.dead_at is null) as is_over
     from chat.completions where tenant_id = $1 and call_id = $2`,
      [tenantId, callId],
    );
    // Released between the two statements: its first call failed.
    return rows[0] ?? { claim_id: claimId, fingerprint, answer: null, is_over: false };
  });
}

/** Releases the claim of a failed call, so a repeat works on it; after `noteAct`, so a repeat fails. */
export async function releaseCompletion(
  pool: Pool,
  { tenantId, claimId }: Pick<CompletionClaim, 'tenantId' | 'claimId'>,
): Promise<void> {
  await withTenant(pool, tenantId, async (db) => {
    await db.query(
      `update chat.completions set instance_id = '00000000-0000-0000-0000-000000000000'
     where claim_id = $1 and answer is null and acted`,
      [claimId],
    );
    await db.query('delete from chat.completions where claim_id = $1 and answer is null and not acted', [
      claimId,
    ]);
  });
}

/** Marks the call for a day: it acts now and must not be worked on again. Throws if the claim is another's by now. */
export async function noteAct(
  pool: Pool,
  { tenantId, claimId }: Pick<CompletionClaim, 'tenantId' | 'claimId'>,
): Promise<void> {
  const isClaimed = await tenantDb(pool, tenantId).exists(
    `update chat.completions set acted = true, expires_at = now() + interval '24 hours'
     where claim_id = $1 and answer is null`,
    [claimId],
  );
  if (!isClaimed) throw new Error('the call is no longer claimed');
}
