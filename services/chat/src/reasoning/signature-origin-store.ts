import { runSteps, cooperativeFor } from '@gatehouse/kit/cooperative-steps';
import { Store } from '@gatehouse/pg/store';
import { dialects, type ApiName } from '@gatehouse/dialects/dialects';
import { signatureSteps } from '@gatehouse/dialects/signatures-in';
import { SignatureOrigins, signatureDigest, type NewSignature } from '../providers/signature-origins.ts';

/** Origins of signatures passed to clients as they are, on every replica. The end of a run stores them. */
export class SignatureOriginStore extends Store {
  /** The signatures in the text of a request. One look-up for a conversation with some, and no look-up for others. */
  async of(api: ApiName, text: Buffer, tenantId: string): Promise<SignatureOrigins> {
    const members = dialects[api].signatures?.members ?? [];
    const found = await runSteps(signatureSteps(members, text), cooperativeFor(text, tenantId));
    const ids = new Map(found.map((id) => [signatureDigest(id).toString('hex'), id]));
    const rows = ids.size === 0 ? [] : await this.#find(tenantId, [...ids.keys()]);
    return new SignatureOrigins(
      api,
      new Map(rows.map(({ digest, origin }) => [ids.get(digest.toString('hex')) ?? '', origin])),
    );
  }

  /** `digests`: in hex. */
  #find(tenantId: string, digests: readonly string[]): Promise<NewSignature[]> {
    return this.tenant(tenantId).all(
      `select found.digest, found.maker as origin from unnest($2::bytea[]) as asked (digest)
       cross join lateral (
         select digest, maker from chat.seals
         where tenant_id = $1 and digest = asked.digest and expires_at > now() limit 1
       ) found`,
      [tenantId, digests.map((digest) => Buffer.from(digest, 'hex'))],
    );
  }
}
