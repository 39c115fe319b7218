import { escaped, htmlPage, sendBrowserTo, sendPage } from '@gatehouse/public-access/page';
import type { NamedSession } from '../sessions/session.ts';
import type { WaitingProgram } from './device-login.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RawCall, RawHandler } from '@gatehouse/http/app';
import { clientIpOf } from '@gatehouse/http/client-ip';
import { assertTenantActive } from '@gatehouse/kit/errors';
import { queryObject } from '@gatehouse/kit/validate';
import { endPage } from '@gatehouse/public-access/consent-page';
import { formOf, fromOf, queryOf, type BrowserSessions } from '../sessions/browser-session-handlers.ts';
import type { StoredSession } from '../sessions/session-system-store.ts';
import type { DeviceLogins } from './device-login-handlers.ts';

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

  /** Uses nothing up: a preview of the link is safe. */
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

/** The page where a person types a code. */
function codePage(problem?: string): string {
  return htmlPage(
    'Connect a program',
    `${problem === undefined ? '' : `<p role="alert">${escaped(problem)}</p>\n`}<form method="get" action="/device">
<label for="user_code">The code that the program shows</label>
<input id="user_code" name="user_code" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="64">
<button type="submit">Continue</button>
</form>`,
  );
}

interface DecisionPage {
  program: WaitingProgram & { userCode: string };
  session: NamedSession;
  /** The address of the browser. */
  clientIp: string | null;
  /** The longest lifetime of a key. */
  ttl: string;
}

/** The page where a person allows or denies a key. */
function decisionPage({ program, session, clientIp, ttl }: DecisionPage): string {
  const place = session.tenantSlug === null ? 'the whole platform' : `the tenant ${session.tenantSlug}`;
  const bound = session.userId === null ? '' : `, as the user ${session.userId}`;
  const isSameAddress = program.clientIp !== null && program.clientIp === clientIp;
  const facts = [
    ['Code', program.userCode],
    ['Program, as it calls itself', program.clientId],
    [
      'Asked from',
      `${program.clientIp ?? 'an unknown address'}${isSameAddress ? ', like this browser' : ', which is not the address of this browser'}`,
    ],
    ['Asked at', program.createdAt.toISOString()],
    ['The key acts for', `${session.name}: the role ${session.role} of ${place}${bound}`],
    ['It may do', session.scopes.join(', ') || 'nothing but see whose key it is'],
    ['It ends', `after ${ttl} unless it is renewed, and with the login of yours`],
  ] as const;
  const list = facts.map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`);
  return htmlPage(
    'Give a program a key?',
    `<p>A program asks for a key with your rights. Allow it only if you have started it yourself just now, and it shows this code. Do not allow a code that another person has sent you.</p>
<dl>
${list.join('\n')}
</dl>
<form method="post" action="/device">
<input type="hidden" name="user_code" value="${escaped(program.userCode)}">
<input type="hidden" name="session" value="${escaped(session.id)}">
<button type="submit" name="decision" value="allow">Allow</button>
<button class="plain" type="submit" name="decision" value="deny">Deny</button>
</form>`,
  );
}
