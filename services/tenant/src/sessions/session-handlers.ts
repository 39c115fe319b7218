import type { Changes } from '@gatehouse/audited-changes/changes';
import type { listSessions } from '@gatehouse/contract/sessions';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { credentialRefusedHeader } from '@gatehouse/http/credential-refused';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import { found, resourceId } from '@gatehouse/http/resource';
import { AppError } from '@gatehouse/kit/errors';
import type { z } from 'zod';
import { endSession } from './session-statements.ts';
import type { SessionStore } from './session-store.ts';
import type { SessionSystemStore } from './session-system-store.ts';
import { sessionChange, showCurrent, showSession } from './session.ts';

type List = Call<unknown, z.output<typeof listSessions>>;

const what = 'session';

export interface SessionDependencies {
  sessions: SessionStore;
  ofAll: SessionSystemStore;
  changes: Changes;
}

/** `/v1/session` and `/v1/sessions*` */
export function sessionHandlers({ sessions, ofAll, changes }: SessionDependencies): Record<string, Handler> {
  return {
    'session.get': async ({ principal }: Call) => {
      const { sessionId } = principal;
      const session = sessionId === undefined ? null : await ofAll.findById(sessionId);
      if (session === null)
        throw new AppError('invalid_session', 'The session has ended.', {
          headers: { [credentialRefusedHeader]: 'true' },
        });
      return { body: showCurrent(session), headers: { 'cache-control': 'no-store' } };
    },

    'sessions.list': async (call: List) => {
      const { limit, cursor } = call.query;
      const rows = await sessions.list(tenantOf(call).tenantId, { limit, before: decodeCursor(cursor) });
      return { body: pageOf(rows, limit, showSession) };
    },

    'sessions.delete': async (call: Call) => {
      const id = resourceId(call.params, what);
      return changes.change(call, async (db) => {
        const ended = found(await endSession(db, id), what);
        return { changes: [sessionChange('session.ended', ended)] };
      });
    },
  };
}
