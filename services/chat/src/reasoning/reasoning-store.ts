import type { Logger } from '@gatehouse/kit/log';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { textArray } from '@gatehouse/pg/arrays';
import type { Pool } from '@gatehouse/pg/pool';
import { tenantDb } from '@gatehouse/pg/store';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { encryptedOf, withItemId } from '@gatehouse/dialects/item-ids';
import { chatIds } from '@gatehouse/dialects/translation/call-ids';
import type { LastingRun } from '../runs/run.ts';
import { beganAt, digestOf, forgottenSince } from '../shared/forgotten-user-store.ts';
import type { CallReasoning, SignedReasoning } from '@gatehouse/dialects/translation/signed-reasoning';

/** The newer calls of a conversation to look for thoughts of, and the bytes of these. */
const most = { calls: 1_000, bytes: 4 * 1024 * 1024 };
/** Calls of one answer: more than any model makes at once. */
const maxCallsOfAnswer = 128;

/** The user with the conversation of the reasoning. */
interface ReasoningOwner {
  tenantId: string;
  /** Null for a key without a user. */
  userId: string | null;
}

/** The thoughts before a call. */
interface ReasoningRow {
  call_id: string;
  /** Encrypted. */
  content: Buffer;
}

/** Thoughts of models for clients without a place for their signatures in the API, on every replica. */
export class ReasoningStore {
  readonly #options: { pool: Pool; keyRing: KeyRing; log: Logger };

  constructor(options: { pool: Pool; keyRing: KeyRing; log: Logger }) {
    this.#options = options;
  }

  /** The thoughts before the calls of a conversation, as far as they are known. `callIds`: the oldest first. */
  async find(
    callIds: readonly string[],
    owner: ReasoningOwner,
  ): Promise<{ thoughts: Map<string, readonly SignedReasoning[]>; bytes: number }> {
    const ids = [...new Set(callIds)].filter((id) => chatIds.fits(id)).slice(-most.calls);
    const lookup = { callIds: ids, maxBytes: most.bytes };
    const rows = ids.length === 0 ? [] : await findReasoning(this.#options.pool, owner, lookup);
    const thoughts = new Map<string, readonly SignedReasoning[]>();
    for (const { call_id: id, content } of rows) {
      const read = await runCooperatively(owner.tenantId, () => this.#read(id, content, owner));
      if (read !== null) thoughts.set(id, read);
    }
    return { thoughts, bytes: rows.reduce((sum, { content }) => sum + content.length, 0) };
  }

  /** Keeps the thoughts before the calls of an answer. Calls with one id are left out. */
  async keep(calls: readonly CallReasoning[], { ageMs }: LastingRun, owner: ReasoningOwner): Promise<void> {
    const ids = calls.map(({ id }) => id);
    const known = calls.filter(({ id }) => ids.indexOf(id) === ids.lastIndexOf(id));
    if (known.length === 0 || calls.length > maxCallsOfAnswer) return;
    const rows = known.map(({ id, thoughts }) => ({
      call_id: id,
      content: this.#options.keyRing.seal(
        Buffer.from(JSON.stringify(thoughts.map(stored))),
        contextOf(id, owner),
      ),
    }));
    await insertReasoning(this.#options.pool, { ...owner, ageMs, rows });
  }

  /** Null if its key has left the ring, as if it had expired. */
  #read(id: string, content: Buffer, owner: ReasoningOwner): readonly SignedReasoning[] | null {
    try {
      const plain = this.#options.keyRing.open(content, contextOf(id, owner));
      return (JSON.parse(plain.toString()) as StoredReasoning[]).map(restored);
    } catch (error) {
      this.#options.log.warn({ err: error, tenant_id: owner.tenantId }, 'failed to open kept thoughts');
      return null;
    }
  }
}

/**
 * Signed reasoning in the member names of 0.3.0: its replicas read the same rows, and send the text of a seal to OpenAI as it
 * is. The id of an item is therefore a member of its own, which they ignore.
 */
type StoredReasoning = Omit<SignedReasoning, 'signature'> & {
  seal: Omit<SignedReasoning['signature'], 'origin'> & { maker: string; id?: string | undefined };
};

function stored({
  signature: { origin, text, ...signature },
  ...reasoning
}: SignedReasoning): StoredReasoning {
  const { id, encrypted_content: encrypted } = encryptedOf(text);
  return { ...reasoning, seal: { maker: origin, ...signature, text: encrypted, id } };
}

function restored({
  seal: { maker, text, id, ...signature },
  ...reasoning
}: StoredReasoning): SignedReasoning {
  return { ...reasoning, signature: { ...signature, origin: maker, text: withItemId(id, text) } };
}

/** Another tenant or user can't open it. */
function contextOf(callId: string, { tenantId, userId }: ReasoningOwner): string {
  return JSON.stringify(['thoughts', tenantId, userId, callId]);
}

/**
 * Writes thoughts of a lasting run, unless its user was forgotten meanwhile. Two answers with calls of the same id lose
 * the thoughts of both: nothing else says which conversation they belong to.
 */
async function insertReasoning(
  pool: Pool,
  { tenantId, userId, ageMs, rows }: ReasoningOwner & { ageMs: number; rows: readonly ReasoningRow[] },
): Promise<void> {
  await tenantDb(pool, tenantId).count(
    `insert into chat.thoughts as known (tenant_id, call_id, user_id, content, bytes, created_at)
     select $1, call_id, $2, content, octet_length(content), ${beganAt('$6')}
     from unnest($3::text[], $4::bytea[]) as added (call_id, content)
     where not ${forgottenSince('$1', '$5', '$6')}
     on conflict (tenant_id, call_id) do update set
       content = case when known.expires_at <= now() then excluded.content end,
       bytes = case when known.expires_at <= now() then excluded.bytes else 0 end,
       user_id = excluded.user_id, created_at = excluded.created_at, expires_at = excluded.expires_at`,
    [
      ...[tenantId, userId, textArray(rows.map((row) => row.call_id)), rows.map(({ content }) => content)],
      ...[digestOf(tenantId, userId), ageMs],
    ],
  );
}

/** The thoughts before calls, of those the newest with at most `maxBytes` in sum. `callIds`: the oldest first. */
function findReasoning(
  pool: Pool,
  { tenantId, userId }: ReasoningOwner,
  { callIds, maxBytes }: { callIds: readonly string[]; maxBytes: number },
): Promise<ReasoningRow[]> {
  return tenantDb(pool, tenantId).all(
    `select call_id, content from (
       select found.call_id, found.content, sum(found.bytes) over (order by asked.place desc) as total
       from unnest($3::text[]) with ordinality as asked (call_id, place)
       cross join lateral (
         select call_id, content, bytes from chat.thoughts
         where tenant_id = $1 and call_id = asked.call_id and user_id is not distinct from $2
           and expires_at > now() and content is not null limit 1
       ) found
     ) newest where total <= $4`,
    [tenantId, userId, textArray(callIds), maxBytes],
  );
}
