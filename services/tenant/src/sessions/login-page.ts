import { endPage } from '@gatehouse/public-access/consent-page';
import { escaped, htmlPage, type SentPage } from '@gatehouse/public-access/page';
import { shownGroups } from '../bounds.ts';
import type { GrantProblem } from '../issuers/grants.ts';
import type { Membership } from './memberships.ts';
import type { NamedSession } from './session.ts';

/** The page where a person logs out at an issuer. */
export interface IssuerPage {
  issuer: string;
  url: string;
}

export interface LoginPage {
  returnTo: string;
  /** The names of the issuers for logins. */
  issuers: readonly string[];
  /** The reason why the last login was refused. */
  problem?: string;
}

/** The page with the ways to log in. */
export function loginPage({ returnTo, issuers, problem }: LoginPage): string {
  const query = `?return_to=${encodeURIComponent(returnTo)}`;
  const action = `/login${query}`;
  const links = issuers.map(
    (name) =>
      `<p><a class="button wide" href="${escaped(`/login/oidc/${name}${query}`)}">Log in with ${escaped(name)}</a></p>\n`,
  );
  const separator = issuers.length === 0 ? '' : '<p class="or">or with an API key</p>\n';
  const style = issuers.length === 0 ? 'wide' : 'plain wide';
  return htmlPage(
    'Log in',
    `${problem === undefined ? '' : `<p role="alert">${escaped(problem)}</p>\n`}${links.join('')}${separator}<form method="post" action="${escaped(action)}">
<label for="key">API key</label>
<input id="key" name="key" type="password" autocomplete="off" required maxlength="256">
<button class="${style}" type="submit">Log in</button>
</form>`,
  );
}

/** The page of a browser with a session, which leads on to `target`. */
export function loggedInPage({ name, tenantSlug, role }: NamedSession, target: string): string {
  const place = tenantSlug === null ? 'the platform' : `the tenant ${tenantSlug}`;
  return htmlPage(
    'You are logged in',
    `<p>${escaped(name)}, with the role ${escaped(role)} of ${escaped(place)}.</p>
<form class="row" method="post" action="/logout">
<a class="button" href="${escaped(target)}">Continue</a>
<button class="plain" type="submit">Log out</button>
</form>`,
  );
}

/** The page of a person who has logged out here, on the way to the issuer. */
export function loggedOutPage({ issuer, url }: IssuerPage): string {
  return htmlPage(
    'You are logged out',
    `<p><a href="${escaped(url)}">Log out at ${escaped(issuer)} too</a></p>`,
  );
}

/** The page of a link: the button logs in, and a preview of the link uses nothing up. */
export function loginLinkPage(ticket: string): string {
  return htmlPage(
    'Log in',
    `<p>This link logs this browser in, once.</p>
<form method="post" action="/login/link">
<input type="hidden" name="ticket" value="${escaped(ticket)}">
<button type="submit" autofocus>Log in</button>
</form>`,
  );
}

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
export function problemPage(issuer: string, problem: GrantProblem): SentPage {
  const title = 'You have no access';
  const html =
    problem.kind === 'no_mapping'
      ? unmappedPage(title, issuer, problem)
      : endPage(title, problemTexts[problem.kind](issuer));
  return { status: 403, html };
}

const problemTexts: Record<Exclude<GrantProblem['kind'], 'no_mapping'>, (issuer: string) => string> = {
  groups_left_out: (issuer) =>
    `You are in more groups than a token of ${issuer} holds, so it left them out. Ask the operator to let ${issuer} send only the groups of this application.`,
  groups_unreadable: (issuer) => `The groups that ${issuer} sent are no list of at most 2,000 names.`,
  no_user: (issuer) =>
    `${issuer} sent no user id of 1 to 255 printable ASCII characters in the claim that the operator has set.`,
  no_tenant: () => 'The tenants of your groups do not exist. Ask the operator to create them.',
};

function unmappedPage(
  title: string,
  issuer: string,
  { groups, lists }: Extract<GrantProblem, { kind: 'no_mapping' }>,
): string {
  const items = groups.slice(0, shownGroups).map((group) => `<li>${escaped(group.slice(0, 256))}</li>`);
  const more = groups.length > shownGroups ? `<p>And ${groups.length - shownGroups} more.</p>` : '';
  const list =
    groups.length === 0
      ? `<p>${escaped(issuer)} sent no groups.${inLists(lists)}</p>`
      : `<p>${escaped(issuer)} sent these groups:</p>\n<ul>\n${items.join('\n')}\n</ul>\n${more}`;
  return htmlPage(
    title,
    `<p>None of your groups has access to a tenant. Ask the operator for it.</p>\n${list}`,
  );
}

/** A hint for the operator, who may have named the wrong claim. */
function inLists(lists: readonly string[]): string {
  if (lists.length === 0) return '';
  return ` Claims with lists: ${lists.map((path) => `<code>${escaped(path)}</code>`).join(', ')}.`;
}
