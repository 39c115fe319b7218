import type { IncomingMessage } from 'node:http';
import type { LocalAssertion } from '@gatehouse/identity/local-assertion';

const assertions = new WeakMap<IncomingMessage, LocalAssertion>();

/**
 * Marks a request as handed over by the edge in this process, with the assertion that it makes for it. No header can do
 * that.
 */
export function handOver(request: IncomingMessage, assertion: LocalAssertion): void {
  assertions.set(request, assertion);
}

/** The assertion of a request that the edge of this process handed over; undefined for one that came over a connection. */
export function handedOver(request: IncomingMessage): LocalAssertion | undefined {
  return assertions.get(request);
}
