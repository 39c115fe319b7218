import type { AuthorizationServer } from './authorization-server.ts';

export interface PersonConsent {
  /** The address of the gateway, whatever that of its links is. */
  url: string;
  link: string;
  login: AuthorizationServer;
  /** The person's name at the authorization server. */
  user: string;
}

/** Consents by a link of the gateway as a person in a browser does. Throws unless that ends well. */
export async function personConsents({ url, link, login, user }: PersonConsent): Promise<void> {
  const here = ({ pathname, search }: URL): string => url + pathname + search;
  const page = here(new URL(link));
  const headers = { 'sec-fetch-site': 'same-origin' };
  const statuses = [(await fetch(page)).status];
  const pressed = await fetch(page, { method: 'POST', redirect: 'manual', headers });
  const cookie = pressed.headers.get('set-cookie')?.split(';')[0] ?? '';
  const back = login.consent(pressed.headers.get('location') ?? '', user);
  statuses.push((await fetch(here(back), { headers: { cookie } })).status);
  if (statuses.join() !== '200,200') throw new Error(`the consent ended with ${statuses.join()}`);
}
