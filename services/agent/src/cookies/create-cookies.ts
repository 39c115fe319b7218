import { cleanUp } from '@gatehouse/pg/clean-up-store';
import type { Shell } from '@gatehouse/shell/shell';
import { AgentStore } from '../agents/agent-store.ts';
import { sealedColumn } from '../secrets/sealed-column.ts';
import type { Ground } from '../ground.ts';
import { cookieHandlers } from './cookie-handlers.ts';
import { CookieStore, oldCookies } from './cookie-store.ts';
import type { CookieOwner } from './cookie.ts';
import type { OpenCookie } from './fetch-cookies.ts';

/** Cookies given to agents by users. */
export function createCookies({ log }: Shell, { config, app, system, rpc }: Ground) {
  const values = sealedColumn(config.SECRETS_KEYRING, 'cookies');
  const cookies = new CookieStore(app);
  const rpcStore = new CookieStore(rpc);
  return {
    handlers: cookieHandlers({ agents: new AgentStore(app), cookies, app, values }),
    parts: cleanUp(log, system, [oldCookies]),
    /** The cookies of an owner for some domains, decrypted. */
    openCookies: async (owner: CookieOwner, domains: readonly string[]): Promise<OpenCookie[]> =>
      (await rpcStore.findOf(owner, domains)).map((cookie) => ({
        ...cookie,
        value: values.open({ tenantId: owner.tenantId, id: cookie.id }, cookie.value),
      })),
    cookies,
  };
}
