import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { AppError } from '@gatehouse/kit/errors';
import { withoutDot, type AllowList } from './allow-list.ts';
import { EgressError } from './errors.ts';
import { resolveHost, type Resolve } from './resolve.ts';
import { addressOf } from './special-ranges.ts';
import { firstFreePort } from './bounds.ts';

/** Top-level names of local networks and clusters. Tenants must not learn which of them exist. */
const localNames = new Set(['local', 'localhost', 'internal', 'onion', 'arpa']);

/**
 * Decides about URLs: allowed is `https` to public addresses, on port 443 or from 1,024. URLs with a host on the
 * allow-list may also be `http` and have any port, and a name on it may resolve to any address.
 */
export class Guard {
  readonly #allow: AllowList;
  readonly #resolve: Resolve;

  constructor(allow: AllowList, resolve: Resolve = resolveHost) {
    this.#allow = allow;
    this.#resolve = resolve;
  }

  /** Checks everything but the addresses of a host name. Throws `EgressError`. */
  assertUrl({ protocol, username, password, hostname, port }: URL): void {
    const opened = this.#allow.has(hostname);
    const schemes = opened ? ['https:', 'http:'] : ['https:'];
    const isAllowed =
      schemes.includes(protocol) &&
      username === '' &&
      password === '' &&
      hostname !== '' &&
      (opened || port === '' || Number(port) >= firstFreePort) &&
      (opened ||
        (addressOf(hostname) === null ? isPublicName(hostname) : this.#allow.admits(hostname, hostname)));
    if (!isAllowed) throw new EgressError('not_allowed');
  }

  /** The addresses of a host. Throws `EgressError` if one of them is not allowed, or the list is empty. */
  async addresses(host: string): Promise<LookupAddress[]> {
    const addresses = await this.#resolve(host, { trusted: this.#allow.has(host) });
    if (addresses.length === 0) throw new EgressError('unreachable');
    if (!addresses.every(({ address }) => this.#allow.admits(host, address)))
      throw new EgressError('not_allowed');
    return addresses;
  }

  /**
   * Checks a URL given by a tenant, without a connection. Throws `url_not_allowed`, with `param`. Accepts a host
   * unresolvable now: connections check again.
   */
  async check(text: string, param: string): Promise<URL> {
    const url = URL.parse(text);
    try {
      if (url === null) throw new EgressError('not_allowed');
      this.assertUrl(url);
      if (addressOf(url.hostname) === null) await this.addresses(url.hostname);
      return url;
    } catch (error) {
      if (!(error instanceof EgressError)) throw error;
      if (url !== null && error.failure !== 'not_allowed') return url;
      throw new AppError(
        'url_not_allowed',
        'The URL is not allowed. It must be https, without user info, on port 443 or from 1024, and its host public.',
        { param, cause: error },
      );
    }
  }

  /** Resolves the host of a connection: it goes to the checked addresses only. */
  readonly lookup: LookupFunction = (host, { all }, done) => {
    this.addresses(host).then(
      (addresses) => {
        const [first] = addresses;
        if (all === true) done(null, addresses);
        else done(null, first?.address ?? '', first?.family);
      },
      (error: unknown) => done(error as Error, ''),
    );
  };
}

function isPublicName(host: string): boolean {
  const labels = withoutDot(host).split('.');
  return labels.length > 1 && !localNames.has(labels.at(-1) ?? '');
}
