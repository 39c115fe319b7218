import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyaddr from 'proxy-addr';

/** Whether an address is that of a proxy in front of the edge. */
export type IsTrustedProxy = (address: string, hop: number) => boolean;

/**
 * The client's address: the nearest one that no trusted proxy has, of the connection and then of `X-Forwarded-For` from
 * its end. What a client writes into that header itself stands before what a trusted proxy adds. Null when what stands
 * there is no address.
 */
export function clientIp(request: IncomingMessage, isTrusted: IsTrustedProxy): string | null {
  const peer = request.socket.remoteAddress ?? '';
  // Of a peer that is no proxy, the header need not be read.
  const address = unmapped(isTrusted(peer, 0) ? proxyaddr(request, isTrusted) : peer);
  return isIP(address) === 0 ? null : address;
}

/** An IPv4 address as such, where a socket for both kinds shows it within IPv6 (RFC 4291 §2.5.5.2). */
function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
}
