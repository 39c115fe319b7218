import type { Logger } from '@gatehouse/kit/log';
import { inLoopTurn } from '@gatehouse/kit/loop-turns';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { chatIds } from '@gatehouse/dialects/translation/call-ids';
import type { LastingRun } from '../runs/run.ts';
import type { CallThoughts, SealedThought } from '@gatehouse/dialects/translation/sealed-thoughts';
import { findThoughts, insertThoughts, type Thinker } from './kept-thought-statements.ts';

/** Newer calls of a conversation whose thoughts are looked for, and the bytes of these. */
const most = { calls: 1_000, bytes: 4 * 1024 * 1024 };
/** Calls of one answer: more than any model makes at once. */
const maxCallsOfAnswer = 128;

/** Thoughts of models for clients whose API has no place for their seals, on every replica. */
export class KeptThoughts {
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
    thinker: Thinker,
  ): Promise<{ thoughts: Map<string, readonly SealedThought[]>; bytes: number }> {
    const ids = [...new Set(callIds)].filter((id) => chatIds.fits(id)).slice(-most.calls);
    const asked = { callIds: ids, maxBytes: most.bytes };
    const rows = ids.length === 0 ? [] : await findThoughts(this.#pool, thinker, asked);
    const thoughts = new Map<string, readonly SealedThought[]>();
    for (const { call_id: id, content } of rows) {
      const read = await inLoopTurn(thinker.tenantId, () => this.#read(id, content, thinker));
      if (read !== null) thoughts.set(id, read);
    }
    return { thoughts, bytes: rows.reduce((sum, { content }) => sum + content.length, 0) };
  }

  /** Keeps the thoughts before the calls of an answer. Calls with one id are left out. */
  async keep(calls: readonly CallThoughts[], { ageMs }: LastingRun, thinker: Thinker): Promise<void> {
    const ids = calls.map(({ id }) => id);
    const known = calls.filter(({ id }) => ids.indexOf(id) === ids.lastIndexOf(id));
    if (known.length === 0 || calls.length > maxCallsOfAnswer) return;
    const rows = known.map(({ id, thoughts }) => ({
      call_id: id,
      content: this.#keyRing.seal(Buffer.from(JSON.stringify(thoughts)), contextOf(id, thinker)),
    }));
    await insertThoughts(this.#pool, { ...thinker, ageMs, rows });
  }

  /** Null if its key has left the ring, as if it had expired. */
  #read(id: string, content: Buffer, thinker: Thinker): readonly SealedThought[] | null {
    try {
      const plain = this.#keyRing.open(content, contextOf(id, thinker));
      return JSON.parse(plain.toString()) as SealedThought[];
    } catch (error) {
      this.#log.warn({ err: error, tenant_id: thinker.tenantId }, 'failed to open kept thoughts');
      return null;
    }
  }
}

/** Another tenant or user can't open it. */
function contextOf(callId: string, { tenantId, userId }: Thinker): string {
  return JSON.stringify(['thoughts', tenantId, userId, callId]);
}
