import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import proxyaddr from 'proxy-addr';

/** Whether an address belongs to a proxy in front of the edge. */
export type IsTrustedProxy = (address: string, hop: number) => boolean;

/**
 * The client's address: the first one not of a trusted proxy, starting with the connection's and then reading
 * `X-Forwarded-For` from its end. Trusted proxies append to this header, so entries forged by a client come before
 * theirs and are not reached. Null when the entry is not an address.
 */
export function clientIp(request: IncomingMessage, isTrusted: IsTrustedProxy): string | null {
  if (request.headers['x-forwarded-for'] !== undefined) return addressOf(request, isTrusted);
  const { socket } = request;
  const known = peers.get(socket);
  if (known !== undefined) return known;
  const address = addressOf(request, isTrusted);
  peers.set(socket, address);
  return address;
}

/** The addresses of connections whose requests have no `X-Forwarded-For`. */
const peers = new WeakMap<Socket, string | null>();

function addressOf(request: IncomingMessage, isTrusted: IsTrustedProxy): string | null {
  const peer = request.socket.remoteAddress ?? '';
  // The header counts only when a proxy sent it.
  const address = unmapped(isTrusted(peer, 0) ? proxyaddr(withoutPorts(request), isTrusted) : peer);
  return isIP(address) === 0 ? null : address;
}

/** The request with the bare addresses of `X-Forwarded-For`: some proxies append ports (`192.0.2.1:443`, `[::1]:443`). */
function withoutPorts(request: IncomingMessage): IncomingMessage {
  const forwarded = request.headers['x-forwarded-for'];
  if (forwarded === undefined || !/[:\]]/.test(String(forwarded))) return request;
  const bare = String(forwarded)
    .split(',')
    .map((entry) => {
      const [, inBrackets, ipv4] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(entry.trim()) ?? [];
      return inBrackets ?? ipv4 ?? entry;
    })
    .join(',');
  return { headers: { 'x-forwarded-for': bare }, socket: request.socket } as unknown as IncomingMessage;
}

/** The IPv4 address in an IPv4-mapped IPv6 address, which dual-stack sockets report (RFC 4291 §2.5.5.2). */
function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
}
