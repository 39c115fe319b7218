import type { Pool } from '@gatehouse/pg/pool';
import type { ApiName } from '@gatehouse/dialects/dialects';
import { sealSteps } from '@gatehouse/dialects/seals-in';
import { RunSeals, sealDigest } from '../providers/run-seals.ts';
import { inSteps, turnsOf } from '@gatehouse/kit/steps';
import { findSealMakers } from './kept-seal-statements.ts';

/** The makers of seals that clients got as they are, on every replica. */
export class KeptSeals {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The seals in the text of a request. One look-up for a conversation with some, and none for others. */
  async of(api: ApiName, text: Buffer, tenantId: string): Promise<RunSeals> {
    const found = await inSteps(sealSteps(api, text), turnsOf(text, tenantId));
    const ids = new Map(found.map((id) => [sealDigest(id).toString('hex'), id]));
    const digests = [...ids.keys()].map((digest) => Buffer.from(digest, 'hex'));
    const rows = digests.length === 0 ? [] : await findSealMakers(this.#pool, tenantId, digests);
    return new RunSeals(
      new Map(rows.map(({ digest, maker }) => [ids.get(digest.toString('hex')) ?? '', maker])),
    );
  }
}
