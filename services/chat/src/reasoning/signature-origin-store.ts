import type { Pool } from '@gatehouse/pg/pool';
import type { ApiName } from '@gatehouse/dialects/dialects';
import { signatureSteps } from '@gatehouse/dialects/signatures-in';
import { SignatureOrigins, signatureDigest } from '../providers/signature-origins.ts';
import { runSteps, cooperativeFor } from '@gatehouse/kit/cooperative-steps';
import { findOrigins } from './signature-origin-statements.ts';

/** The origins of signatures that clients got as they are, on every replica. */
export class SignatureOriginStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The signatures in the text of a request. One look-up for a conversation with some, and none for others. */
  async of(api: ApiName, text: Buffer, tenantId: string): Promise<SignatureOrigins> {
    const found = await runSteps(signatureSteps(api, text), cooperativeFor(text, tenantId));
    const ids = new Map(found.map((id) => [signatureDigest(id).toString('hex'), id]));
    const digests = [...ids.keys()].map((digest) => Buffer.from(digest, 'hex'));
    const rows = digests.length === 0 ? [] : await findOrigins(this.#pool, tenantId, digests);
    return new SignatureOrigins(
      new Map(rows.map(({ digest, origin }) => [ids.get(digest.toString('hex')) ?? '', origin])),
    );
  }
}
