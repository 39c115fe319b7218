import { isIP } from 'node:net';

/** The network by which clients are counted: an IPv6 host has all addresses of its /64; any other text is itself. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  return `${groupsOf(address).slice(0, 4).join(':')}::/64`;
}

/** The eight groups of an IPv6 address, without leading zeros. */
function groupsOf(address: string): string[] {
  const [bare = ''] = address.split('%');
  // The parser of URLs spells each address in one way, with IPv4 endings as groups (RFC 5952).
  const { hostname } = new URL(`http://[${bare}]`);
  const [head = [], tail = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''));
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => '0'), ...tail];
}
