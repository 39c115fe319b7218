import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Every range of IANA's registries of special-purpose addresses, multicast, and IPv6 addresses standing for an IPv4
 * address: https://www.iana.org/assignments/iana-ipv4-special-registry, …/iana-ipv6-special-registry.
 */
export const specialRanges = {
  '0.0.0.0/8': 'this network',
  '10.0.0.0/8': 'private use',
  '100.64.0.0/10': 'shared by carriers; some clouds serve metadata here',
  '127.0.0.0/8': 'loopback',
  '169.254.0.0/16': 'link-local; clouds serve metadata here',
  '172.16.0.0/12': 'private use',
  '192.0.0.0/24': 'protocol assignments',
  '192.0.2.0/24': 'documentation',
  '192.31.196.0/24': 'AS112',
  '192.52.193.0/24': 'AMT',
  '192.88.99.0/24': '6to4 relays',
  '192.168.0.0/16': 'private use',
  '192.175.48.0/24': 'AS112',
  '198.18.0.0/15': 'benchmarks',
  '198.51.100.0/24': 'documentation',
  '203.0.113.0/24': 'documentation',
  '224.0.0.0/4': 'multicast',
  '240.0.0.0/4': 'reserved, and broadcast',
  '::/96': 'unspecified, loopback, and IPv4-compatible',
  '::ffff:0:0/96': 'IPv4-mapped',
  '::ffff:0:0:0/96': 'IPv4-translated',
  '64:ff9b::/96': 'IPv4 behind NAT64',
  '64:ff9b:1::/48': 'IPv4 behind a local NAT64',
  '100::/64': 'discard',
  '100:0:0:1::/64': 'dummy prefix',
  '2001::/23': 'protocol assignments, among them Teredo, which stands for IPv4',
  '2001:db8::/32': 'documentation',
  '2002::/16': '6to4, which stands for IPv4',
  '2620:4f:8000::/48': 'AS112',
  '3fff::/20': 'documentation',
  '5f00::/16': 'segment routing',
  'fc00::/7': 'unique local',
  'fe80::/10': 'link-local',
  'fec0::/10': 'site-local',
  'ff00::/8': 'multicast',
} as const;

const parsed = Object.keys(specialRanges).map((range) => ipaddr.parseCIDR(range));

/** IPv6 addresses are assigned from here. */
const global = ipaddr.IPv6.parseCIDR('2000::/3');

/** Interface identifiers of ISATAP, which stand for an IPv4 address. The second bit of the first byte says global. */
const isatap = new Set([0x0000_5efe, 0x0200_5efe]);

/** Whether an address belongs to the public internet. */
export function isPublic(address: Address): boolean {
  if (isWithin(address, parsed)) return false;
  if (!(address instanceof ipaddr.IPv6)) return true;
  const [, , , , high = 0, low = 0] = address.parts;
  return address.match(global) && !isatap.has(high * 0x1_0000 + low);
}

export function isWithin(address: Address, ranges: readonly [Address, number][]): boolean {
  return ranges.some(
    ([network, bits]) => network.kind() === address.kind() && address.match([network, bits] as never),
  );
}

/** The address in a host name, as URLs spell it (IPv6 in brackets); null if it is a name. */
export function addressOf(host: string): Address | null {
  const bare = host.startsWith('[') ? host.slice(1, -1) : host;
  return ipaddr.isValid(bare) ? ipaddr.parse(bare) : null;
}
