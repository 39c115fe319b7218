import type { CookieStore } from '../cookies/cookie-store.ts';
import type { LoginStore } from '../logins/login-store.ts';
import { forgetUser } from './forget-user-rpc.ts';

/** Deletions of the data of users. */
export function createForgetting({ cookies, logins }: { cookies: CookieStore; logins: LoginStore }) {
  return { rpcs: { forgetUser: forgetUser(cookies, logins) } };
}
