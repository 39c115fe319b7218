import { endPage } from '@gatehouse/public-access/consent-page';
import { escaped, htmlPage } from '@gatehouse/public-access/page';
import type { Membership } from './memberships.ts';
import type { GrantProblem } from '../issuers/grants.ts';

/** Pages of a login by an issuer that did not end with a session. */

export interface EndOfLogin {
  status: number;
  html: string;
}

const maxGroups = 50;

/** The page on which a person of several tenants chooses one. */
export function choicePage(issuer: string, places: readonly Membership[], returnTo: string): string {
  const action = `/login/oidc/${issuer}/choice?return_to=${encodeURIComponent(returnTo)}`;
  const buttons = places.map(
    ({ tenant, tenantId, role }) =>
      `<p><button type="submit" name="tenant" value="${tenantId ?? ''}">${escaped(tenant ?? 'The platform')}, as ${escaped(role)}</button></p>`,
  );
  return htmlPage(
    'Choose a tenant',
    `<form method="post" action="${escaped(action)}">
${buttons.join('\n')}
</form>`,
  );
}

/** A page with a text and a link to log in again. */
export function failedPage(title: string, text: string): string {
  return htmlPage(title, `<p>${escaped(text)}</p>\n<p><a href="/login">Log in again</a></p>`);
}

/** The page for a person whom the mappings give nothing. */
export function problemPage(issuer: string, problem: GrantProblem): EndOfLogin {
  const title = 'You have no access';
  switch (problem.kind) {
    case 'groups_left_out':
      return {
        status: 403,
        html: endPage(
          title,
          `You are in more groups than a token of ${issuer} holds, so it left them out. Ask the operator to let ${issuer} send only the groups of this application.`,
        ),
      };
    case 'groups_unreadable':
      return {
        status: 403,
        html: endPage(title, `The groups that ${issuer} sent are no list of at most 2,000 names.`),
      };
    case 'no_user':
      return {
        status: 403,
        html: endPage(
          title,
          `${issuer} sent no user id of 1 to 255 printable ASCII characters in the claim that the operator has set.`,
        ),
      };
    case 'no_tenant':
      return {
        status: 403,
        html: endPage(title, 'The tenants of your groups do not exist. Ask the operator to create them.'),
      };
    case 'no_mapping':
      return { status: 403, html: unmappedPage(title, issuer, problem.groups) };
  }
}

function unmappedPage(title: string, issuer: string, groups: readonly string[]): string {
  const items = groups.slice(0, maxGroups).map((group) => `<li>${escaped(group.slice(0, 256))}</li>`);
  const more = groups.length > maxGroups ? `<p>And ${groups.length - maxGroups} more.</p>` : '';
  const list =
    groups.length === 0
      ? `<p>${escaped(issuer)} sent no groups.</p>`
      : `<p>${escaped(issuer)} sent these groups:</p>\n<ul>\n${items.join('\n')}\n</ul>\n${more}`;
  return htmlPage(
    title,
    `<p>None of your groups has access to a tenant. Ask the operator for it.</p>\n${list}`,
  );
}
