import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import type { CookieInput } from '@gatehouse/contract/cookies';
import { bareHost } from '@gatehouse/egress/bare-host';
import { AppError } from '@gatehouse/kit/errors';
import { Cookie as ToughCookie, CookieJar, defaultPath, domainMatch, getPublicSuffix } from 'tough-cookie';
import type { Cookie } from './cookie.ts';

/** A cookie of a request with its value; `isExpired` if it only deletes one. */
export interface ReadCookie extends Cookie {
  value: string;
  isExpired: boolean;
}

/** A cookie in one of the accepted spellings, held to the rules of RFC 6265bis. Throws a 400 naming it by `index`. */
export async function readCookie(input: CookieInput, index: number, now: Date): Promise<ReadCookie> {
  const at = (field: string, reason: string): AppError =>
    new AppError('invalid_value', `Invalid value for cookies[${index}].${field}: ${reason}.`, {
      param: `cookies[${index}].${field}`,
    });
  const place = placeIn(input, at);
  const secure = input.secure ?? false;
  const path = input.path ?? (place.url === null ? '/' : defaultPath(place.url.pathname));
  if (secure && place.url?.protocol === 'http:' && place.url.hostname !== 'localhost')
    throw at('secure', 'a page without https cannot set a secure cookie');
  const cookie: Cookie = {
    name: input.name,
    ...{ domain: place.domain, hostOnly: place.hostOnly, path, secure },
    httpOnly: input.http_only ?? input.httpOnly ?? false,
    sameSite: sameSiteOf(input),
    partitionKey: partitionKeyOf(input),
    expiresAt: expiryOf(input),
  };
  const broken = await brokenRule(cookie);
  if (broken !== null)
    throw new AppError('invalid_value', `Invalid value for cookies[${index}]: ${broken}.`, {
      param: `cookies[${index}]`,
    });
  const { expiresAt } = cookie;
  return { ...cookie, value: input.value, isExpired: expiresAt !== null && expiresAt <= now };
}

type At = (field: string, reason: string) => AppError;

/** The host of a cookie. */
function placeIn(input: CookieInput, at: At): { domain: string; hostOnly: boolean; url: URL | null } {
  const url = input.url === undefined ? null : new URL(input.url);
  if (input.domain === undefined) {
    if (url === null) throw at('domain', 'a cookie needs a domain or a url');
    return { domain: bareHost(url.hostname), hostOnly: true, url };
  }
  const withDot = input.domain.startsWith('.');
  const given = withDot ? input.domain.slice(1) : input.domain;
  const domain = isIP(given) === 0 ? domainToASCII(given) : given;
  if (domain === '' || domain.startsWith('.')) throw at('domain', 'is no host name');
  const hostOnly = input.host_only ?? input.hostOnly ?? (!withDot && url === null);
  if (isIP(domain) !== 0 && !hostOnly) throw at('domain', 'an address has no subdomains');
  const host = url === null ? domain : bareHost(url.hostname);
  if (hostOnly ? host !== domain : domainMatch(host, domain) !== true)
    throw at('domain', 'is not that of the url');
  // A host may have a cookie of its own, though it is a public suffix too; then this must be said.
  const isSure = input.host_only === true || input.hostOnly === true;
  if (isIP(domain) === 0 && !isSure && isPublicSuffix(domain))
    throw at('domain', 'is a public suffix, such as com or co.uk');
  return { domain, hostOnly, url };
}

function isPublicSuffix(domain: string): boolean {
  return getPublicSuffix(domain, { allowSpecialUseDomain: true, ignoreError: true }) === undefined;
}

function sameSiteOf({ same_site, sameSite }: CookieInput): Cookie['sameSite'] {
  const sameSiteText = same_site ?? sameSite;
  if (sameSiteText === undefined || sameSiteText === 'unspecified') return null;
  return sameSiteText === 'no_restriction' ? 'none' : sameSiteText;
}

function partitionKeyOf({ partition_key, partitionKey }: CookieInput): string {
  const partition = partition_key ?? partitionKey ?? '';
  if (typeof partition === 'string') return partition;
  // An empty one is absent, too.
  return [partition.topLevelSite, partition.sourceOrigin].find(Boolean) ?? '';
}

function expiryOf({ expires, expirationDate }: CookieInput): Date | null {
  const expiry = expires ?? expirationDate;
  if (expiry === undefined || expiry === -1) return null;
  if (typeof expiry === 'string') return new Date(expiry);
  return new Date(expiry * 1_000);
}

/** Why no browser would store a cookie, by the rules of the library; null if it would. */
async function brokenRule({
  name,
  domain,
  hostOnly,
  path,
  secure,
  httpOnly,
}: Cookie): Promise<string | null> {
  // Browsers compare prefixes without case; the library does not.
  const key = name.replace(/^__host-/i, '__Host-').replace(/^__secure-/i, '__Secure-');
  const host = isIP(domain) === 6 ? `[${domain}]` : domain;
  const jar = new CookieJar(undefined, { prefixSecurity: 'strict', allowSpecialUseDomain: true });
  const cookie = new ToughCookie({ key, value: 'x', path, secure, httpOnly, ...(!hostOnly && { domain }) });
  try {
    await jar.setCookie(cookie, `https://${host}/`);
    return null;
  } catch (error) {
    return error instanceof TypeError ? 'its domain is no host name' : (error as Error).message;
  }
}
