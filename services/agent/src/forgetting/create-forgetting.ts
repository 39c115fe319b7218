import type { DeletionInboxOptions } from '@gatehouse/shell/deletion-inbox';
import type { CookieStore } from '../cookies/cookie-store.ts';
import type { Logins } from '../logins/logins-client.ts';
import { batchRows } from '../bounds.ts';

/** Removes cookies, and logins at MCP servers, when the data of their user are deleted. */
export function createForgetting({
  cookies,
  logins,
}: {
  cookies: CookieStore;
  logins: Logins;
}): Pick<DeletionInboxOptions, 'forgetUser'> {
  return {
    async forgetUser({ tenantId, userId, requestedAt: before }) {
      const counts = {
        cookies: await cookies.forget({ tenantId, userId, before }, batchRows),
        mcp_logins: await logins.forget({ tenantId, userId, before }, batchRows),
      };
      return { counts, completed: Math.max(...Object.values(counts)) < batchRows };
    },
  };
}
