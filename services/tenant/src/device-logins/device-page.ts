import { escaped, htmlPage } from '@gatehouse/public-access/page';
import type { NamedSession } from '../sessions/session.ts';
import type { WaitingProgram } from './device-login.ts';

/** The page where a person types a code. */
export function codePage(problem?: string): string {
  return htmlPage(
    'Connect a program',
    `${problem === undefined ? '' : `<p role="alert">${escaped(problem)}</p>\n`}<form method="get" action="/device">
<label for="user_code">The code that the program shows</label>
<input id="user_code" name="user_code" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="64">
<button type="submit">Continue</button>
</form>`,
  );
}

export interface DecisionPage {
  program: WaitingProgram & { userCode: string };
  session: NamedSession;
  /** The address of the browser. */
  clientIp: string | null;
  /** The longest lifetime of a key. */
  ttl: string;
}

/** The page where a person allows or denies a key. */
export function decisionPage({ program, session, clientIp, ttl }: DecisionPage): string {
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
<button type="submit" name="decision" value="deny">Deny</button>
</form>`,
  );
}
