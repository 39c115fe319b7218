import { counter, type Registry } from '@gatehouse/kit/metrics';

/** Failed: the issuer gave no answer about the person. */
export type RevalidationOutcome = 'confirmed' | 'refused' | 'failed';
/** Skipped: the issuer takes no revocations. A failed one is tried again. */
export type RevocationOutcome = 'revoked' | 'failed' | 'skipped';

const lookOutcomes: readonly RevalidationOutcome[] = ['confirmed', 'refused', 'failed'];
const revocationOutcomes: readonly RevocationOutcome[] = ['revoked', 'failed', 'skipped'];

/** Counts calls of issuers about people who have logged in. Issuers are those of the operator's settings. */
export function issuerMetrics(registry: Registry, issuers: readonly string[]) {
  const labels = ['issuer', 'outcome'] as const;
  const looks = counter(registry, 'gatehouse_issuer_looks_total', helpOfLooks, labels);
  const revocations = counter(registry, 'gatehouse_issuer_revocations_total', helpOfRevocations, labels);
  for (const issuer of issuers) {
    for (const outcome of lookOutcomes) looks.inc({ issuer, outcome }, 0);
    for (const outcome of revocationOutcomes) revocations.inc({ issuer, outcome }, 0);
  }
  return {
    countLook: (issuer: string, outcome: RevalidationOutcome) => looks.inc({ issuer, outcome }),
    countRevocation: (issuer: string, outcome: RevocationOutcome) => revocations.inc({ issuer, outcome }),
  };
}

const helpOfLooks =
  'Issuers asked again about people who have logged in, by outcome: confirmed, refused or failed';
const helpOfRevocations =
  'Refresh tokens of people who have logged out, by outcome: revoked, failed or skipped';
