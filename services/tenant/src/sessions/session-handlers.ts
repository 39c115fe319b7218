import type { Changes } from '@gatehouse/audited-changes/changes';
import type { listOwn, MemberSession } from '@gatehouse/contract/personal-keys';
import type { listSessions } from '@gatehouse/contract/sessions';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { credentialRefusedHeader } from '@gatehouse/http/credential-refused';
import { pageReply } from '@gatehouse/http/pagination';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { AppError } from '@gatehouse/kit/errors';
import type { PageRequest } from '@gatehouse/kit/page';
import { afterCommit, type Queryable } from '@gatehouse/pg/pool';
import type { z } from 'zod';
import { endSession, endSessionOfKey, type SessionStore } from './session-store.ts';
import type { SessionSystemStore } from './session-system-store.ts';
import { sessionChange, showCurrent, showSession, type Session } from './session.ts';

type MemberList = Call<unknown, z.output<typeof listOwn>>;
type List = Call<unknown, z.output<typeof listSessions>>;

const what = 'session';

export interface SessionDependencies {
  sessions: SessionStore;
  systemStore: SessionSystemStore;
  changes: Changes;
  /** Revokes the refresh token of an ended session. Returns at once. */
  forget: (session: Pick<Session, 'loginId'>) => void;
}

/** `/v1/session`, `/v1/sessions*` and `/v1/me/sessions*` */
export function sessionHandlers({
  sessions,
  systemStore,
  changes,
  forget,
}: SessionDependencies): Record<string, Handler> {
  const end = async (call: Call, endOne: (db: Queryable, id: string) => Promise<Session | null>) => {
    const id = resourceId(call.params, what);
    return changes.change(call, async (db) => {
      const one = orNotFound(await endOne(db, id), what);
      afterCommit(db, () => forget(one));
      return { changes: [sessionChange('session.ended', one)] };
    });
  };
  return {
    'session.get': async ({ principal }: Call) => {
      const { sessionId } = principal;
      const session = sessionId === undefined ? null : await systemStore.findById(sessionId);
      if (session === null)
        throw new AppError('invalid_session', 'The session has ended.', {
          headers: { [credentialRefusedHeader]: 'true' },
        });
      return { body: showCurrent(session) };
    },

    'sessions.list': (call: List) =>
      pageReply(call, (page) => sessions.list(tenantOf(call).tenantId, page), showSession),

    'sessions.delete': (call: Call) => end(call, endSession),

    'me.sessions.list': (call: MemberList) => {
      const { keyId, tenantId, sessionId } = call.principal;
      const read = (page: PageRequest) =>
        tenantId === null ? systemStore.listOfKey(keyId, page) : sessions.listOfKey(tenantId, keyId, page);
      return pageReply(call, read, (one) => showOwn(one, sessionId));
    },

    'me.sessions.delete': (call: Call) =>
      end(call, (db, id) => endSessionOfKey(db, id, call.principal.keyId)),
  };
}

function showOwn(session: Session, current: string | undefined): MemberSession {
  return { ...showSession(session), current: session.id === current };
}
