import type { IncomingMessage, ServerResponse } from 'node:http';
import { pagesPath } from '@gatehouse/contract/pages';
import type { RawCall, RawHandler } from '@gatehouse/http/app';
import { clientIpOf } from '@gatehouse/http/client-ip';
import { tokenSha256Of } from '@gatehouse/kit/random-token';
import { queryObject } from '@gatehouse/kit/validate';
import { endPage } from '@gatehouse/public-access/consent-page';
import { sendBrowserTo, sendPage } from '@gatehouse/public-access/page';
import type { Refusals } from '@gatehouse/public-access/refusals';
import { formOf, fromOf, queryOf, type BrowserSessions } from './browser-session-handlers.ts';
import type { AcceptedKey, KeyLogin } from './key-login.ts';
import { loginLinkPage } from './login-page.ts';
import type { KeyOfTicket } from './login-ticket-system-store.ts';

export interface LoginLinkDependencies {
  /** Uses a ticket up, by its hexadecimal hash; null for a used or expired one. */
  take: (ticketSha256: string) => Promise<KeyOfTicket | null>;
  logins: KeyLogin;
  browsers: BrowserSessions;
  refusals: Refusals;
}

/** `/login/link`: an operator's link for one login. */
export function loginLinkHandlers(dependencies: LoginLinkDependencies): Record<string, RawHandler> {
  const { logins, browsers, refusals } = dependencies;
  return {
    'login.link': async (request, response, call) => {
      const { ticket = '' } = queryObject(queryOf(request));
      if (tokenSha256Of(ticket) === null) sendOver(response, call);
      else sendPage(response, call.requestId, { status: 200, html: loginLinkPage(ticket) });
    },

    'login.link.form': async (request, response, call) => {
      browsers.checkOrigin(request);
      const key = await keyOf(request, dependencies);
      if (key === null) {
        await refusals.count('login_link', clientIpOf(request));
        sendOver(response, call);
        return;
      }
      const opened = await logins.open(key, fromOf(request, call), 'link');
      await browsers.end(request, call);
      const cookies = [browsers.cookieOf(opened)];
      sendBrowserTo(response, call.requestId, { location: pagesPath, cookies });
    },
  };
}

/** The key of the ticket in a form, which is used up; null for an invalid ticket or key. */
async function keyOf(
  request: IncomingMessage,
  { take, logins }: Pick<LoginLinkDependencies, 'take' | 'logins'>,
): Promise<AcceptedKey | null> {
  const hash = tokenSha256Of((await formOf(request)).get('ticket') ?? '');
  const taken = hash === null ? null : await take(hash.toString('hex'));
  return taken === null ? null : logins.accept(taken.keyId, taken.secretSha256);
}

function sendOver(response: ServerResponse, call: RawCall): void {
  const html = endPage(
    'This link is no longer valid',
    'It was used, or is older than a minute. Log in at /login with a key.',
  );
  sendPage(response, call.requestId, { status: 410, html });
}
