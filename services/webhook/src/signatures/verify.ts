import { createHmac, timingSafeEqual } from 'node:crypto';
import { type SignatureClaim, type Signing, type VerifiableRequest, schemes } from './schemes.ts';
import { clockSkewS } from '../bounds.ts';

/** The id of a genuine request. */
export interface Genuine {
  /** The sender's id of the request; null without one. */
  id: string | null;
  /** Whether the id is part of what is signed. */
  idIsSigned: boolean;
}

/** Stands for missing signatures: a request without them costs as much work as others. */
const noSignature = Buffer.alloc(32);

/**
 * Checks a request against the secrets of an endpoint. Null if it is not genuine. Computes the same number of HMACs
 * over the body whether headers are missing, the time is over or the signature is wrong.
 */
export function verify(
  request: VerifiableRequest,
  { secrets, nowS, ...signing }: Signing & { secrets: readonly string[]; nowS: number },
): Genuine | null {
  const { keyOf, read } = schemes[signing.scheme];
  const claim = read(request, signing);
  const { signatures, signed }: Pick<SignatureClaim, 'signatures' | 'signed'> = claim ?? {
    signatures: [noSignature],
    signed: [request.body],
  };
  let matches = false;
  for (const secret of secrets) {
    const hmac = createHmac('sha256', keyOf(secret));
    for (const part of signed) hmac.update(part);
    const expected = hmac.digest();
    for (const signature of signatures) {
      const equal = signature.length === expected.length && timingSafeEqual(signature, expected);
      matches = equal || matches;
    }
  }
  if (claim === null || !matches) return null;
  if (claim.timestamp !== null && Math.abs(claim.timestamp - nowS) > clockSkewS) return null;
  return { id: claim.id, idIsSigned: claim.idIsSigned };
}
