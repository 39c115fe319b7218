import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/** Header with the client's address, set by the edge. The edge removes a client's own copy. */
export const clientIpHeader = 'x-gatehouse-client-ip';

/** The client's address as determined by the edge; null when missing or invalid. */
export function clientIpOf(request: IncomingMessage): string | null {
  const address = request.headers[clientIpHeader];
  return typeof address === 'string' && isIP(address) !== 0 ? address : null;
}
