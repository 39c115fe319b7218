import { createHash } from 'node:crypto';
import type { BrowserCookie } from '@gatehouse/contract/cookies';

/** A cookie as it is stored, without its value. */
export interface Cookie {
  name: string;
  /** Without a leading dot, in ASCII. */
  domain: string;
  /** Whether subdomains do not get it. */
  hostOnly: boolean;
  path: string;
  secure: boolean;
  httpOnly: boolean;
  sameSite: BrowserCookie['same_site'];
  /** Sent for pages of this site only; '' for every page. */
  partitionKey: string;
  /** Null for the end of the browser's session. */
  expiresAt: Date | null;
}

/** The user and the agent of cookies. */
export interface CookieOwner {
  tenantId: string;
  userId: string;
  agentId: string;
}

/** A digest of what a browser recognizes a cookie by: a newer one replaces it. */
export function placeOf({
  domain,
  name,
  path,
  hostOnly,
  partitionKey,
}: Pick<Cookie, 'domain' | 'name' | 'path' | 'hostOnly' | 'partitionKey'>): string {
  const place = JSON.stringify([domain, name, path, hostOnly, partitionKey]);
  return createHash('sha256').update(place).digest('hex');
}
