import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RawCall, RawHandler } from '@gatehouse/http/app';
import { clientIpOf } from '@gatehouse/http/client-ip';
import { assertTenantActive } from '@gatehouse/kit/errors';
import { queryObject } from '@gatehouse/kit/validate';
import { endPage } from '@gatehouse/public-access/consent-page';
import { sendBrowserTo, sendPage } from '@gatehouse/public-access/page';
import { formOf, fromOf, queryOf, type BrowserSessions } from '../sessions/browser-session-handlers.ts';
import type { StoredSession } from '../sessions/session-system-store.ts';
import type { DeviceLogins } from './device-login-handlers.ts';
import { codePage, decisionPage } from './device-page.ts';

export interface DevicePageDependencies {
  logins: DeviceLogins;
  browsers: BrowserSessions;
  /** The longest lifetime of a key, for people. */
  ttl: string;
}

/** The page `/device`, where people confirm programs. */
export function devicePageHandlers(dependencies: DevicePageDependencies): Record<string, RawHandler> {
  const page = new DevicePage(dependencies);
  return {
    'device.page': (request, response, call) => page.show(request, response, call),
    'device.form': (request, response, call) => page.decide(request, response, call),
  };
}

const unknownCode = 'No program waits with this code. Check it, or start the program again.';

/** Shows people who have a session which program waits for them, and takes their decision. */
class DevicePage {
  readonly #options: DevicePageDependencies;

  constructor(options: DevicePageDependencies) {
    this.#options = options;
  }

  /** Uses nothing up, so that a preview of the link is safe. */
  async show(request: IncomingMessage, response: ServerResponse, call: RawCall): Promise<void> {
    const session = await this.#sessionOf(request);
    const code = queryObject(queryOf(request))['user_code'];
    if (session === null) {
      leadToLogin(response, call, code);
      return;
    }
    if (code === undefined) sendPage(response, call.requestId, { status: 200, html: codePage() });
    else await this.#showProgram(request, response, call, { session, code });
  }

  async decide(request: IncomingMessage, response: ServerResponse, call: RawCall): Promise<void> {
    const { logins, browsers } = this.#options;
    browsers.checkOrigin(request);
    const fields = await formOf(request);
    const code = fields.get('user_code') ?? '';
    const session = await this.#sessionOf(request);
    if (session === null) {
      leadToLogin(response, call, code);
      return;
    }
    const decision = fields.get('decision');
    // The person may have logged in as somebody else since they saw the page.
    if (fields.get('session') !== session.id || (decision !== 'allow' && decision !== 'deny')) {
      await this.#showProgram(request, response, call, { session, code });
      return;
    }
    const program = await logins.find(code, fromOf(request, call));
    const isAllowed = decision === 'allow';
    if (program === null || !(await logins.decide(program.id, session, isAllowed))) {
      sendPage(response, call.requestId, { status: 404, html: codePage(unknownCode) });
      return;
    }
    const html = isAllowed
      ? endPage('Allowed', 'The program has its key in a few seconds. You can close this page.')
      : endPage('Denied', 'The program gets no key. You can close this page.');
    sendPage(response, call.requestId, { status: 200, html });
  }

  async #showProgram(
    request: IncomingMessage,
    response: ServerResponse,
    call: RawCall,
    { session, code }: { session: StoredSession; code: string },
  ): Promise<void> {
    const { logins, ttl } = this.#options;
    const program = await logins.find(code, fromOf(request, call));
    const html =
      program === null
        ? codePage(unknownCode)
        : decisionPage({ program, session, clientIp: clientIpOf(request), ttl });
    sendPage(response, call.requestId, { status: program === null ? 404 : 200, html });
  }

  /** Throws `tenant_suspended`. */
  async #sessionOf(request: IncomingMessage): Promise<StoredSession | null> {
    const session = await this.#options.browsers.find(request);
    assertTenantActive(session?.tenantStatus ?? null);
    return session;
  }
}

function leadToLogin(response: ServerResponse, call: RawCall, code: string | undefined): void {
  const page = code === undefined ? '/device' : `/device?user_code=${encodeURIComponent(code.slice(0, 64))}`;
  sendBrowserTo(response, call.requestId, { location: `/login?return_to=${encodeURIComponent(page)}` });
}
