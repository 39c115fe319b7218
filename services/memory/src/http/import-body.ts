import type { IncomingMessage } from 'node:http';
import { clientLeft } from '@gatehouse/http/body';
import { streamBody } from '@gatehouse/http/body-stream';
import { fingerprintHash, type StreamedFingerprint } from '@gatehouse/http/idempotency-key';
import type { Principal } from '@gatehouse/identity/principal';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';

export interface ImportBodyOptions {
  principal: Pick<Principal, 'keyId' | 'userId'>;
  /** In bytes. */
  limit: number;
  maxMinutes: number;
}

/** The body of an import, with the fingerprint it has when it has been read. */
export class ImportBody implements StreamedFingerprint {
  readonly #request: IncomingMessage;
  readonly #options: ImportBodyOptions;
  readonly #startedAt = monotonicMs();
  #known: Buffer | null = null;

  constructor(request: IncomingMessage, options: ImportBodyOptions) {
    this.#request = request;
    this.#options = options;
  }

  get known(): Buffer | null {
    return this.#known;
  }

  async rest(): Promise<Buffer> {
    for await (const _chunk of this.chunks());
    if (this.#known === null) throw new Error('the body was read before');
    return this.#known;
  }

  /** The body as it arrives. Throws `payload_too_large`, `request_timeout` and `client_closed_request`. */
  async *chunks(): AsyncGenerator<Buffer, void> {
    const { principal, limit, maxMinutes } = this.#options;
    const hash = fingerprintHash(principal, this.#request.url ?? '');
    try {
      for await (const chunk of streamBody(this.#request, limit)) {
        if (monotonicMs() - this.#startedAt > maxMinutes * 60_000)
          throw new AppError('request_timeout', `An import must not take longer than ${maxMinutes} minutes.`);
        hash.update(chunk);
        yield chunk;
      }
    } catch (error) {
      throw error instanceof AppError || !this.#request.destroyed ? error : clientLeft();
    }
    this.#known = hash.digest();
  }
}
