import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/** Where the edge writes the client's address. A client's own copy gets nowhere: the edge lists what passes. */
export const clientIpHeader = 'x-gatehouse-client-ip';

/** The client's address as the edge found it; null when it says none. */
export function clientIpOf(request: IncomingMessage): string | null {
  const address = request.headers[clientIpHeader];
  return typeof address === 'string' && isIP(address) !== 0 ? address : null;
}
