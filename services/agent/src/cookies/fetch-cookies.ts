import { bareHost } from '@gatehouse/egress/bare-host';
import { Cookie as ToughCookie, CookieJar, getPublicSuffix, MemoryCookieStore } from 'tough-cookie';
import type { Cookie } from './cookie.ts';
import { maxCookieHeaderBytes } from '../bounds.ts';

/** A cookie with its value. */
export interface OpenCookie extends Cookie {
  value: string;
  createdAt: Date;
}

/**
 * The cookies of one fetch: those given to an agent by a user, and those set by the responses. Cookies of responses end
 * with the fetch: the browser has its own.
 */
export class FetchCookies {
  readonly #jar = new CookieJar(new MemoryCookieStore(), {
    ...{ rejectPublicSuffixes: false, allowSpecialUseDomain: true, looseMode: true },
  });
  readonly #load: (domains: readonly string[]) => Promise<readonly OpenCookie[]>;
  readonly #loaded = new Set<string>();

  /** `load` returns the cookies of some domains. */
  constructor(load: (domains: readonly string[]) => Promise<readonly OpenCookie[]>) {
    this.#load = load;
  }

  /**
   * The header `Cookie` for a page opened by a user; null without cookies. No other site leads to the redirects of a
   * page opened from an address bar, so `SameSite` keeps nothing back.
   */
  async headerFor(url: URL): Promise<string | null> {
    await this.#loadFor(url);
    const cookies = await this.#jar.getCookies(url.href);
    const pairs: string[] = [];
    let bytes = 0;
    for (const { key, value } of cookies) {
      // A header of bytes: values may be UTF-8.
      const pair = Buffer.from(`${key}=${value}`).toString('latin1');
      bytes += pair.length + 2;
      if (bytes > maxCookieHeaderBytes) break;
      pairs.push(pair);
    }
    return pairs.length === 0 ? null : pairs.join('; ');
  }

  /** Takes what a response sets, as far as its host may set it. */
  async take(url: URL, setCookies: readonly string[]): Promise<void> {
    for (const text of setCookies)
      await this.#jar.setCookie(Buffer.from(text, 'latin1').toString(), url.href, { ignoreError: true });
  }

  async #loadFor(url: URL): Promise<void> {
    const missing = domainsOf(url.hostname).filter((domain) => !this.#loaded.has(domain));
    if (missing.length === 0) return;
    const site = siteOf(url);
    for (const domain of missing) this.#loaded.add(domain);
    for (const cookie of await this.#load(missing)) {
      if (cookie.partitionKey !== '' && cookie.partitionKey !== site) continue;
      await this.#jar.store.putCookie(toughCookie(cookie));
    }
  }
}

/** A host and the domains above it: cookies of these may be for it. */
export function domainsOf(hostname: string): string[] {
  const host = bareHost(hostname).replace(/\.$/, '').toLowerCase();
  if (host.includes(':') || /^[\d.]+$/.test(host)) return [host];
  const labels = host.split('.');
  return labels.map((_, index) => labels.slice(index).join('.'));
}

/** The site of a page, for partitioned cookies. */
function siteOf({ protocol, hostname }: URL): string {
  return `${protocol}//${getPublicSuffix(hostname, { allowSpecialUseDomain: true, ignoreError: true }) ?? hostname}`;
}

function toughCookie(cookie: OpenCookie): ToughCookie {
  const { name: key, value, domain, hostOnly, path, secure, httpOnly, sameSite, createdAt } = cookie;
  return new ToughCookie({
    ...{ key, value, domain, hostOnly, path, secure, httpOnly, sameSite: sameSite ?? undefined },
    creation: createdAt,
    expires: cookie.expiresAt ?? 'Infinity',
  });
}
