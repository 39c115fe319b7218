import type { IncomingMessage } from 'node:http';

/** The parts of a request that prove that it is genuine. */
export interface VerifiableRequest {
  /** All values of a header, in lower case, as they were sent; none if it was not. */
  header(name: string): readonly string[];
  /** As they came. */
  body: Buffer;
}

export function signedRequestOf(request: IncomingMessage, body: Buffer): VerifiableRequest {
  return { header: (name) => request.headersDistinct[name] ?? [], body };
}
