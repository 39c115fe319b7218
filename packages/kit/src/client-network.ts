import { isIP } from 'node:net';

/**
 * The network by which clients are counted: an IPv6 host has all addresses of its /64; any other text is itself. An
 * IPv4 address written as one of IPv6 is the IPv4 address, or all of them would be one network.
 */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const groups = groupsOf(address);
  return mappedIpv4(groups) ?? `${groups.slice(0, 4).join(':')}::/64`;
}

/**
 * The wider network, by which clients with many networks of their own are counted: an IPv6 site has all networks of its
 * /48, and neighbours of one IPv4 /24 often have one owner. Any other text is itself.
 */
export function wideNetworkOf(address: string): string {
  const network = networkOf(address);
  if (isIP(network) === 4) return `${network.split('.').slice(0, 3).join('.')}.0/24`;
  return isIP(address) === 6 ? `${groupsOf(address).slice(0, 3).join(':')}::/48` : address;
}

/** The IPv4 address of `::ffff:0:0/96`. */
function mappedIpv4(groups: readonly string[]): string | null {
  if (groups.slice(0, 6).join(':') !== '0:0:0:0:0:ffff') return null;
  const bytes = groups.slice(6).flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
  return bytes.join('.');
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
