import { Counter, type Registry } from '@gatehouse/kit/metrics';

/** Failed: the issuer gave no answer about the person. */
export type RevalidationOutcome = 'confirmed' | 'refused' | 'failed';
/** Skipped: the issuer takes none. A failed one is tried again. */
export type RevocationOutcome = 'revoked' | 'failed' | 'skipped';

const lookOutcomes: readonly RevalidationOutcome[] = ['confirmed', 'refused', 'failed'];
const revocationOutcomes: readonly RevocationOutcome[] = ['revoked', 'failed', 'skipped'];

/** Calls of issuers about people who have logged in. Issuers are those of the operator's settings. */
export class IssuerMetrics {
  readonly #looks: Counter;
  readonly #revocations: Counter;

  constructor(registry: Registry, issuers: readonly string[]) {
    this.#looks = new Counter({
      name: 'gatehouse_issuer_looks_total',
      help: 'Issuers asked again about people who have logged in, by outcome: confirmed, refused or failed',
      labelNames: ['issuer', 'outcome'],
      registers: [registry],
    });
    this.#revocations = new Counter({
      name: 'gatehouse_issuer_revocations_total',
      help: 'Refresh tokens of people who have logged out, by outcome: revoked, failed or skipped',
      labelNames: ['issuer', 'outcome'],
      registers: [registry],
    });
    for (const issuer of issuers) {
      for (const outcome of lookOutcomes) this.#looks.inc({ issuer, outcome }, 0);
      for (const outcome of revocationOutcomes) this.#revocations.inc({ issuer, outcome }, 0);
    }
  }

  countLook(issuer: string, outcome: RevalidationOutcome): void {
    this.#looks.inc({ issuer, outcome });
  }

  countRevocation(issuer: string, outcome: RevocationOutcome): void {
    this.#revocations.inc({ issuer, outcome });
  }
}
