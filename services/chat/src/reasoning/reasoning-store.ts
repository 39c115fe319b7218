import type { Logger } from '@gatehouse/kit/log';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { chatIds } from '@gatehouse/dialects/translation/call-ids';
import type { LastingRun } from '../runs/run.ts';
import type { CallReasoning, SignedReasoning } from '@gatehouse/dialects/translation/signed-reasoning';
import { findReasoning, insertReasoning, type ReasoningOwner } from './reasoning-statements.ts';

/** Newer calls of a conversation whose thoughts are looked for, and the bytes of these. */
const most = { calls: 1_000, bytes: 4 * 1024 * 1024 };
/** Calls of one answer: more than any model makes at once. */
const maxCallsOfAnswer = 128;

/** Thoughts of models for clients whose API has no place for their signatures, on every replica. */
export class ReasoningStore {
  readonly #pool: Pool;
  readonly #keyRing: KeyRing;
  readonly #log: Logger;

  constructor({ pool, keyRing, log }: { pool: Pool; keyRing: KeyRing; log: Logger }) {
    this.#pool = pool;
    this.#keyRing = keyRing;
    this.#log = log;
  }

  /** The thoughts before the calls of a conversation, as far as they are known. `callIds`: the oldest first. */
  async find(
    callIds: readonly string[],
    owner: ReasoningOwner,
  ): Promise<{ thoughts: Map<string, readonly SignedReasoning[]>; bytes: number }> {
    const ids = [...new Set(callIds)].filter((id) => chatIds.fits(id)).slice(-most.calls);
    const lookup = { callIds: ids, maxBytes: most.bytes };
    const rows = ids.length === 0 ? [] : await findReasoning(this.#pool, owner, lookup);
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
      content: this.#keyRing.seal(Buffer.from(JSON.stringify(thoughts.map(stored))), contextOf(id, owner)),
    }));
    await insertReasoning(this.#pool, { ...owner, ageMs, rows });
  }

  /** Null if its key has left the ring, as if it had expired. */
  #read(id: string, content: Buffer, owner: ReasoningOwner): readonly SignedReasoning[] | null {
    try {
      const plain = this.#keyRing.open(content, contextOf(id, owner));
      return (JSON.parse(plain.toString()) as StoredReasoning[]).map(restored);
    } catch (error) {
      this.#log.warn({ err: error, tenant_id: owner.tenantId }, 'failed to open kept thoughts');
      return null;
    }
  }
}

/** Signed reasoning in the member names of 0.3.0, whose replicas read the same rows. */
type StoredReasoning = Omit<SignedReasoning, 'signature'> & {
  seal: Omit<SignedReasoning['signature'], 'origin'> & { maker: string };
};

function stored({ signature: { origin, ...signature }, ...reasoning }: SignedReasoning): StoredReasoning {
  return { ...reasoning, seal: { maker: origin, ...signature } };
}

function restored({ seal: { maker, ...signature }, ...reasoning }: StoredReasoning): SignedReasoning {
  return { ...reasoning, signature: { origin: maker, ...signature } };
}

/** Another tenant or user can't open it. */
function contextOf(callId: string, { tenantId, userId }: ReasoningOwner): string {
  return JSON.stringify(['thoughts', tenantId, userId, callId]);
}
