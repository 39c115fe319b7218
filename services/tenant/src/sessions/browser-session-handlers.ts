import type { IncomingMessage } from 'node:http';
import { pagesPath } from '@gatehouse/contract/pages';
import type { RawCall } from '@gatehouse/http/app';
import { isForm, readBody } from '@gatehouse/http/body';
import { clientIpOf } from '@gatehouse/http/client-ip';
import { AppError } from '@gatehouse/kit/errors';
import type { HostCookie } from '@gatehouse/kit/host-cookie';
import { tokenSha256Of } from '@gatehouse/kit/random-token';
import { queryObject } from '@gatehouse/kit/validate';
import { isOwnPage } from '@gatehouse/public-access/same-origin';
import { sessionLife, maxFormBytes } from '../bounds.ts';
import type { OpenedSession } from './key-login.ts';
import { returnTo } from './return-to.ts';
import type { SessionChangeStore } from './session-change-store.ts';
import type { StoredSession } from './session-system-store.ts';
import { type From } from './session.ts';

export interface BrowserSessionDependencies {
  sessions: SessionChangeStore;
  /** Finds the open session of a token by its hexadecimal hash. */
  findSession: (tokenSha256: string) => Promise<StoredSession | null>;
  cookie: HostCookie;
  publicUrl: string;
}

/** The path after a login without a path of its own. */
export const afterLogin = pagesPath;

/** The session in a browser's cookie. */
export class BrowserSessions {
  readonly #options: BrowserSessionDependencies;

  constructor(options: BrowserSessionDependencies) {
    this.#options = options;
  }

  async find({ headers }: IncomingMessage): Promise<StoredSession | null> {
    const { cookie, findSession } = this.#options;
    const [text, another] = cookie.valuesIn(headers.cookie);
    const hash = another === undefined ? tokenSha256Of(text) : null;
    return hash === null ? null : findSession(hash.toString('hex'));
  }

  /** Returns the ended session. */
  async end(request: IncomingMessage, call: RawCall): Promise<StoredSession | null> {
    const session = await this.find(request);
    if (session !== null) await this.#options.sessions.end(session, fromOf(request, call));
    return session;
  }

  /** Another site could log a person in as somebody else, or out. Throws `cross_site_request`. */
  checkOrigin(request: IncomingMessage): void {
    if (isOwnPage(request, this.#options.publicUrl)) return;
    throw new AppError('cross_site_request', 'This request must come from a page of the gateway itself.');
  }

  /** The cookie of an opened session. */
  cookieOf({ token }: OpenedSession): string {
    return this.#options.cookie.set(token, sessionLife.hours * 3_600);
  }

  /** The cookie that removes a session. */
  clearedCookie(): string {
    return this.#options.cookie.clear();
  }
}

/** The client of a request. */
export function fromOf(request: IncomingMessage, { requestId }: RawCall): From {
  return { clientIp: clientIpOf(request), requestId };
}

/** The browser's path after a login. */
export function targetOf(request: IncomingMessage): string {
  return returnTo(queryObject(queryOf(request))['return_to'], afterLogin);
}

export function queryOf({ url = '' }: IncomingMessage): string {
  const at = url.indexOf('?');
  return at === -1 ? '' : url.slice(at + 1);
}

/** The fields of a form. Throws `unsupported_media_type`, and `payload_too_large` for a long one. */
export async function formOf(request: IncomingMessage, maxBytes = maxFormBytes): Promise<URLSearchParams> {
  if (!isForm(request.headers['content-type']))
    throw new AppError('unsupported_media_type', 'The request body must be a form.');
  return new URLSearchParams((await readBody(request, maxBytes)).toString());
}
