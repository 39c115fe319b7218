import { X509Certificate } from 'node:crypto';
import { dayMs } from './bounds.ts';

/** The times from and until which a certificate is valid, in milliseconds since the epoch. */
export interface Validity {
  notBefore: number;
  notAfter: number;
}

/** Time for which a certificate is reported as expiring, and its largest share of the lifetime. */
const warningMs = 14 * dayMs;
const warningShare = 1 / 4;

const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** All certificates of a file in PEM, in order. Throws for a file without one, or with a malformed one. */
export function certificatesIn(pem: Buffer): readonly [X509Certificate, ...X509Certificate[]] {
  const text = pem.toString('latin1');
  const [first, ...others] = text.match(block) ?? [];
  if (first === undefined || (text.match(/-----BEGIN CERTIFICATE-----/g) ?? []).length !== others.length + 1)
    throw new Error('a file has no certificate, or one that is cut off');
  return [new X509Certificate(first), ...others.map((each) => new X509Certificate(each))];
}

/**
 * The validity of the first certificate to expire, of a chain and its trusted CAs. Only the newest CA counts:
 * an old one may stay in the bundle beside its successor.
 */
export function firstToExpire(
  chain: readonly [X509Certificate, ...X509Certificate[]],
  cas: readonly X509Certificate[] = [],
): Validity {
  const newestCa = cas.map(validityOf).toSorted(byEnd).at(-1);
  const [leaf, ...others] = chain;
  return [...others.map(validityOf), ...(newestCa === undefined ? [] : [newestCa])].reduce(
    (first, each) => (byEnd(each, first) < 0 ? each : first),
    validityOf(leaf),
  );
}

/** The validity of one certificate. */
export function validityOf({ validFromDate, validToDate }: X509Certificate): Validity {
  return { notBefore: validFromDate.getTime(), notAfter: validToDate.getTime() };
}

function byEnd(one: Validity, other: Validity): number {
  return one.notAfter - other.notAfter;
}

/** When to begin to report that a certificate expires. */
export function warnsFrom({ notBefore, notAfter }: Validity): number {
  return notAfter - Math.min(warningMs, (notAfter - notBefore) * warningShare);
}
