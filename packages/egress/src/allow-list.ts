import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { bareHost } from './bare-host.ts';
import { addressOf, isPublic, isWithin, type Address } from './special-ranges.ts';

/** Hosts by name and ranges of addresses opened by the operator beyond the public internet. */
export class AllowList {
  readonly #hosts = new Set<string>();
  readonly #ranges: [Address, number][] = [];

  /** `entries`: names, addresses, and ranges like `10.1.0.0/16`. Throws an `Error` naming a wrong one. */
  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      if (entry.includes('/')) this.#ranges.push(rangeOf(entry));
      else {
        if (isIP(entry) === 0) this.#hosts.add(nameOf(entry));
        else this.#ranges.push(rangeOf(`${entry}/${isIP(entry) === 4 ? 32 : 128}`));
      }
    }
  }

  /** This list with the hosts of these URLs. */
  withHostsOf(urls: readonly string[]): AllowList {
    const joined = new AllowList(urls.map((url) => bareHost(new URL(url).hostname)));
    for (const host of this.#hosts) joined.#hosts.add(host);
    joined.#ranges.push(...this.#ranges);
    return joined;
  }

  /** Whether the operator has named this host or, for an address, a range with it. */
  has(host: string): boolean {
    const address = addressOf(host);
    return address === null ? this.#hosts.has(withoutDot(host)) : isWithin(address, this.#ranges);
  }

  /** Whether connections for `host` may go to this address, which it was resolved to or is. */
  admits(host: string, address: string): boolean {
    const parsed = addressOf(address);
    if (parsed === null) return false;
    return isPublic(parsed) || isWithin(parsed, this.#ranges) || this.has(host);
  }
}

/**
 * A range in CIDR notation. Throws for shortened addresses, which libraries read in different ways, and for bits
 * outside the prefix.
 */
export function rangeOf(entry: string): [Address, number] {
  const [address = '', bits = ''] = entry.split('/', 2);
  const kind = isIP(address) === 4 ? ipaddr.IPv4 : ipaddr.IPv6;
  if (isIP(address) !== 0 && /^\d{1,3}$/.test(bits) && kind.isValidCIDR(entry)) {
    const range = kind.parseCIDR(entry);
    if (kind.networkAddressFromCIDR(entry).toString() === range[0].toString()) return range;
  }
  throw new Error(`${entry} is not a CIDR range, such as 10.0.0.0/8`);
}

const hostName = /^[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*\.?$/u;

/** As URLs spell it: in lower case, in punycode. */
function nameOf(entry: string): string {
  const url = hostName.test(entry) ? URL.parse(`https://${entry}`) : null;
  if (url === null || addressOf(url.hostname) !== null)
    throw new Error(`${entry} is not a host name, an address or a CIDR range`);
  return withoutDot(url.hostname);
}

/** Host names may end with the dot of the root. */
export function withoutDot(host: string): string {
  return host.endsWith('.') ? host.slice(0, -1) : host;
}
