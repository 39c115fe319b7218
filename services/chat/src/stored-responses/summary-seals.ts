import { AppError } from '@gatehouse/kit/errors';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { summaryMark } from '@gatehouse/dialects/marked-signatures';

/** Summaries of conversations as clients hold them: sealed, so no other tenant can read or write one. */
export class SummarySeals {
  readonly #keyRing: KeyRing;

  constructor(keyRing: KeyRing) {
    this.#keyRing = keyRing;
  }

  seal(summary: string, tenantId: string): string {
    const sealed = this.#keyRing.seal(Buffer.from(summary), contextOf(tenantId));
    return `${summaryMark}${sealed.toString('base64url')}`;
  }

  /**
   * Throws 400 for one changed, sealed for another tenant, or by a key no longer in the ring. `param`: its place in the
   * request.
   */
  open(sealed: string, { tenantId, param }: { tenantId: string; param: string }): string {
    try {
      const bytes = Buffer.from(sealed.slice(summaryMark.length), 'base64url');
      return this.#keyRing.open(bytes, contextOf(tenantId)).toString();
    } catch (cause) {
      throw new AppError(
        'invalid_encrypted_content',
        'The encrypted content of a compaction item could not be verified. Send it as it was returned, or compact the conversation again: the key that encrypted it may have been retired.',
        { param, cause },
      );
    }
  }
}

function contextOf(tenantId: string): string {
  return JSON.stringify(['summary', tenantId]);
}
