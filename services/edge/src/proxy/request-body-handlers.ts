import type { IncomingMessage, ServerResponse } from 'node:http';
import { announcedBytes, hasBody, readBody } from '@gatehouse/http/body';
import type { BodyBudget, BodyShare } from '@gatehouse/kit/body-budget';
import type { AnonymousBudget } from '@gatehouse/http/anonymous-budget';
import { openAnonymousShare, openShare } from '@gatehouse/http/body-share';
import { streamBody } from '@gatehouse/http/body-stream';
import type { PaceOptions } from '@gatehouse/http/pace-check';
import { smallBodyBytes } from '../bounds.ts';

export interface RequestBodiesOptions {
  /** For gathered bodies; streams hold hardly any memory. */
  budget: BodyBudget;
  /** For bodies of routes without a key, by client address and network. */
  anonymous: AnonymousBudget;
  pace?: PaceOptions | undefined;
}

/** A body on its way to a service. */
export class RequestBody {
  readonly #share: BodyShare | undefined;
  /** Null without one, and once it is freed. */
  bytes: Buffer | AsyncIterable<Buffer> | null;

  constructor(bytes: Buffer | AsyncIterable<Buffer> | null, share?: BodyShare) {
    this.bytes = bytes;
    this.#share = share;
  }

  /** Call when the service has all of it: an answer may take a minute. */
  free(): void {
    this.bytes = null;
    this.#share?.release();
  }
}

interface IncomingBody {
  request: IncomingMessage;
  response: ServerResponse;
  /** Null for owner keys. */
  tenantId: string | null;
  /** On routes without a key: the client's address. */
  anonymousAddress?: string | undefined;
}

/** Reads request bodies for forwarding, within the memory budget and at the least pace. */
export class RequestBodies {
  readonly #options: RequestBodiesOptions;

  constructor(options: RequestBodiesOptions) {
    this.#options = options;
  }

  /** The whole body. Throws as `readBody` and the budgets. */
  async gather(incoming: IncomingBody, limit: number): Promise<RequestBody> {
    const { request, response, tenantId, anonymousAddress } = incoming;
    if (!hasBody(request)) return new RequestBody(null);
    const { budget, anonymous, pace } = this.#options;
    const share =
      anonymousAddress === undefined
        ? openShare(budget, tenantId, response)
        : openAnonymousShare(anonymous, anonymousAddress, request, response);
    return new RequestBody(await readBody(request, limit, { ...pace, share }), share);
  }

  /** A small body as its bytes, a larger one as a stream throwing `payload_too_large` or `request_timeout`. */
  async gatherOrStream(incoming: IncomingBody, limit: number): Promise<RequestBody> {
    const { request } = incoming;
    const isSmall = !hasBody(request) || (announcedBytes(request) ?? Infinity) <= smallBodyBytes;
    if (isSmall) return this.gather(incoming, limit);
    return new RequestBody(streamBody(request, limit, this.#options.pace));
  }
}
