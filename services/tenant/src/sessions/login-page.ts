import { escaped, htmlPage } from '@gatehouse/public-access/page';
import type { IssuerPage } from './issuer-logouts.ts';
import type { NamedSession } from './session.ts';

export interface LoginPage {
  returnTo: string;
  /** The names of the issuers that people can log in at. */
  issuers: readonly string[];
  /** The reason why the last login was refused. */
  problem?: string;
}

/** The page with the ways to log in. */
export function loginPage({ returnTo, issuers, problem }: LoginPage): string {
  const query = `?return_to=${encodeURIComponent(returnTo)}`;
  const action = `/login${query}`;
  const links = issuers.map(
    (name) => `<p><a href="${escaped(`/login/oidc/${name}${query}`)}">Log in with ${escaped(name)}</a></p>\n`,
  );
  return htmlPage(
    'Log in',
    `${problem === undefined ? '' : `<p role="alert">${escaped(problem)}</p>\n`}${links.join('')}<form method="post" action="${escaped(action)}">
<label for="key">API key</label>
<input id="key" name="key" type="password" autocomplete="off" required maxlength="256">
<button type="submit">Log in</button>
</form>`,
  );
}

/** The page of a browser that has a session. */
export function loggedInPage({ name, tenantSlug, role }: NamedSession): string {
  const place = tenantSlug === null ? 'the platform' : `the tenant ${tenantSlug}`;
  return htmlPage(
    'You are logged in',
    `<p>${escaped(name)}, with the role ${escaped(role)} of ${escaped(place)}.</p>
<form method="post" action="/logout"><button type="submit">Log out</button></form>`,
  );
}

/** The page of a person who has logged out here, on the way to the issuer. */
export function loggedOutPage({ issuer, url }: IssuerPage): string {
  return htmlPage(
    'You are logged out',
    `<p><a href="${escaped(url)}">Log out at ${escaped(issuer)} too</a></p>`,
  );
}
