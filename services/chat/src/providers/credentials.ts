import type { CatalogueSecrets } from '../catalogue/catalogue-file.ts';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';

export type Secrets = CatalogueSecrets;

/** A request as it is about to go to a provider. */
export interface OutgoingRequest {
  /** The path with the query, behind the base address of the provider. */
  path: string;
  /** Beside the headers of all calls. */
  headers: Readonly<Record<string, string>>;
  body: Pieces;
}

/** The gateway's right to call a provider. */
export interface Credentials {
  /**
   * The proof of one request, as headers; a promise where they must be fetched or computed first. Throws
   * `CredentialsError`. `path`: the whole one.
   */
  headersFor(request: OutgoingRequest): Record<string, string> | Promise<Record<string, string>>;
  /**
   * The provider refused with a status what was sent at a time of `monotonicMs`. Resolves to whether the next request gets
   * others, which may be accepted; only the refused call waits for it.
   */
  refused?(status: number, sentAt: number): Promise<boolean>;
  /** The variable of the key, if it is not set: requests go out without one, which some servers accept. */
  unset?: string;
  /** Ends what runs to renew them. */
  close?(): void;
}

/** There is no proof for a call, so nothing was sent. Its message has no secrets. */
export class CredentialsError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CredentialsError';
  }
}

/** The same headers for all requests. `unset`: see `Credentials`. */
export function fixedHeaders(headers: Record<string, string>, unset?: string): Credentials {
  return { headersFor: () => headers, ...(unset !== undefined && { unset }) };
}

/** Credentials with which nothing can be sent. */
export function noCredentials(why: string): Credentials {
  return {
    headersFor: () => {
      throw new CredentialsError(why);
    },
  };
}
