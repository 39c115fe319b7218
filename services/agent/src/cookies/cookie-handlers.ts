import type { BrowserCookie, deleteCookies, listCookies, SyncCookies } from '@gatehouse/contract/cookies';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import { orNotFound } from '@gatehouse/http/resource';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { z } from 'zod';
import type { AgentStore } from '../agents/agent-store.ts';
import { viewerOf } from '../agents/viewer.ts';
import type { SealedColumn } from '../secrets/sealed-column.ts';
import { actingUserOf } from '../shared/acting-user.ts';
import { syncCookies, type CookieStore, type NewCookie, type StoredCookie } from './cookie-store.ts';
import { placeOf } from './cookie.ts';
import { readCookie, type ReadCookie } from './read-cookie.ts';
import { cookiesAtOnce, maxCookies, sealedAtOnce } from '../bounds.ts';

type Sync = Call<SyncCookies>;
type List = Call<unknown, z.output<typeof listCookies>>;
type Delete = Call<unknown, z.output<typeof deleteCookies>>;

const needsUser = 'Cookies belong to a user';

export interface CookieDependencies {
  agents: AgentStore;
  cookies: CookieStore;
  /** A pool of `agent_app`. */
  app: Pool;
  /** Encrypts the values. */
  values: SealedColumn;
}

/** `/v1/browser/cookies*` */
export function cookieHandlers({
  agents,
  cookies,
  app,
  values,
}: CookieDependencies): Record<string, Handler> {
  return {
    'browser.cookies.sync': async (call: Sync) => {
      const { tenantId, userId } = actingUserOf(call, needsUser);
      const { mode, source, agent_id: ref } = call.body;
      const { id: agentId } = orNotFound(await agents.find(viewerOf(tenantOf(call)), ref), 'agent');
      const read = await readAll(call.body);
      const [expired, live] = [read.filter((each) => each.isExpired), read.filter((each) => !each.isExpired)];
      const sealed = await sealAll(live, tenantId, values);
      const owner = { tenantId, userId, agentId };
      const deleted = await withTenant(app, tenantId, async (db) => {
        const synced = await syncCookies(db, owner, {
          ...{ cookies: sealed, expired, source, replace: mode === 'replace' },
        });
        if (synced.remaining > maxCookies)
          throw new AppError('limit_reached', `A user has at most ${maxCookies} cookies. Delete some.`);
        return synced.deleted;
      });
      const byDomain = [...Map.groupBy(live, ({ domain }) => domain)].toSorted(([a], [b]) =>
        a < b ? -1 : 1,
      );
      return {
        body: {
          ...{ synced: live.length, deleted, agent_id: agentId, user_id: userId },
          domains: byDomain.map(([domain, some]) => ({ domain, cookies: some.length })),
        },
      };
    },

    'browser.cookies.list': async (call: List) => {
      const { limit, cursor, agent_id: agentId = null } = call.query;
      const rows = await cookies.list(actingUserOf(call, needsUser), {
        agentId,
        limit,
        before: decodeCursor(cursor),
      });
      return { body: pageOf(rows, limit, showCookie) };
    },

    'browser.cookies.delete': async (call: Delete) => {
      const { agent_id: agentId = null, domain = null } = call.query;
      await cookies.delete(actingUserOf(call, needsUser), { agentId, domain });
      return {};
    },
  };
}

/** The cookies of a request; of several for the same place the last one. */
async function readAll({ cookies }: SyncCookies): Promise<ReadCookie[]> {
  const now = new Date();
  const read: ReadCookie[] = [];
  for (const [index, cookie] of cookies.entries()) {
    // Reading one takes up to 0.2 ms, and many requests may do it at once.
    if (index > 0 && index % cookiesAtOnce === 0) await new Promise(setImmediate);
    read.push(await readCookie(cookie, index, now));
  }
  return [...new Map(read.map((cookie) => [placeOf(cookie), cookie])).values()];
}

async function sealAll(
  cookies: readonly ReadCookie[],
  tenantId: string,
  values: SealedColumn,
): Promise<NewCookie[]> {
  const sealed: NewCookie[] = [];
  for (let from = 0; from < cookies.length; from += sealedAtOnce) {
    const some = cookies.slice(from, from + sealedAtOnce);
    const seal = (cookie: ReadCookie): NewCookie => {
      const id = newId();
      return { ...cookie, id, value: values.seal({ tenantId, id }, cookie.value) };
    };
    sealed.push(...(await runCooperatively(tenantId, () => some.map(seal))));
  }
  return sealed;
}

function showCookie(cookie: StoredCookie): BrowserCookie {
  const { agentId, name, domain, path, secure, source } = cookie;
  return {
    ...{ agent_id: agentId, name, domain, host_only: cookie.hostOnly, path, secure, source },
    http_only: cookie.httpOnly,
    same_site: cookie.sameSite,
    partition_key: cookie.partitionKey === '' ? null : cookie.partitionKey,
    expires_at: cookie.expiresAt?.toISOString() ?? null,
    created_at: cookie.createdAt.toISOString(),
    updated_at: cookie.updatedAt.toISOString(),
  };
}
