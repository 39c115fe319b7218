import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { Result } from '../clients/completion.ts';

/** Encrypts and decrypts what an agent is asked and answers, each for its call only. */
export class CallTexts {
  readonly #keyRing: KeyRing;

  constructor(keyRing: KeyRing) {
    this.#keyRing = keyRing;
  }

  /** `request`: an OpenAI chat completion request without a model, as JSON. */
  sealRequest(call: { tenantId: string; id: string }, request: string): Buffer {
    return this.#keyRing.seal(Buffer.from(request), contextOfCall(call, 'request'));
  }

  openRequest(call: { tenantId: string; id: string }, sealed: Buffer): string {
    return this.#keyRing.open(sealed, contextOfCall(call, 'request')).toString();
  }

  sealResult(call: { tenantId: string; id: string }, result: Result): Buffer {
    return this.#keyRing.seal(Buffer.from(JSON.stringify(result)), contextOfCall(call, 'result'));
  }

  openResult(call: { tenantId: string; id: string }, sealed: Buffer): Result {
    return JSON.parse(this.#keyRing.open(sealed, contextOfCall(call, 'result')).toString()) as Result;
  }
}

/** The context of the sealed text of a call. */
export function contextOfCall({ tenantId, id }: { tenantId: string; id: string }, column: string): string {
  return `${tenantId}/webhook.calls/${column}/${id}`;
}
