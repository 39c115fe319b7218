import ipaddr from 'ipaddr.js';
import { addressOf, isPublic, isWithin, type Address } from './special-ranges.ts';

/** What the operator has opened beyond the public internet: hosts by name, and ranges of addresses. */
export class AllowList {
  readonly #hosts = new Set<string>();
  readonly #ranges: [Address, number][] = [];

  /** `entries`: names, addresses, and ranges such as `10.1.0.0/16`. Throws an `Error` that names a wrong one. */
  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      if (entry.includes('/')) this.#ranges.push(rangeOf(entry));
      else {
        const address = addressOf(entry);
        if (address === null) this.#hosts.add(nameOf(entry));
        else this.#ranges.push([address, address.kind() === 'ipv4' ? 32 : 128]);
      }
    }
  }

  /** Whether the operator has named this host, or a range that it is in if it is an address. */
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

function rangeOf(entry: string): [Address, number] {
  try {
    return ipaddr.parseCIDR(entry);
  } catch {
    throw new Error(`${entry} is no range of addresses`);
  }
}

/** As URLs spell it: in lower case, in punycode. */
function nameOf(entry: string): string {
  const url = /^[^\s:/?#@\\]+$/.test(entry) ? URL.parse(`https://${entry}`) : null;
  if (url === null) throw new Error(`${entry} is no host name, address or range of addresses`);
  return withoutDot(url.hostname);
}

function withoutDot(host: string): string {
  return host.endsWith('.') ? host.slice(0, -1) : host;
}
