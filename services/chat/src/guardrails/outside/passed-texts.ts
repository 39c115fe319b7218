import { hash } from 'node:crypto';
import { hourMs } from '@gatehouse/kit/bounds';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { monotonicMs } from '@gatehouse/kit/clock';
import { TenantCache } from '@gatehouse/kit/tenant-cache';
import { passedTextBytes } from '../../bounds.ts';

/**
 * Texts let pass by models, by digest, for an hour: they are not asked about again. A tenant with too many loses its
 * own.
 */
export class PassedTexts {
  readonly #until = new TenantCache<number>({ ...passedTextBytes, bytesOf: () => 0 });
  readonly #now: () => number;

  constructor(now = monotonicMs) {
    this.#now = now;
  }

  /** `version`: of the guardrail, with its tenant's id. */
  forVersion(tenantId: string, version: string): { has(text: string): boolean; add(text: string): void } {
    const keyOf = (text: string): string => cacheKey(version, hash('sha256', text, 'base64url'));
    return {
      has: (text) => (this.#until.get(tenantId, keyOf(text)) ?? 0) > this.#now(),
      add: (text) => this.#until.set(tenantId, keyOf(text), this.#now() + hourMs),
    };
  }
}
