import type { Changes, RecordChange } from '@gatehouse/audited-changes/changes';
import { sessionCookie } from '@gatehouse/contract/sessions';
import { HostCookie } from '@gatehouse/kit/host-cookie';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { batchedFinder } from '@gatehouse/kit/batched';
import type { Pool } from '@gatehouse/pg/pool';
import { Refusals } from '@gatehouse/public-access/refusals';
import type { Shell } from '@gatehouse/shell/shell';
import { ApiKeySystemStore } from '../keys/api-key-system-store.ts';
import { LastUse } from '../keys/last-use.ts';
import { authenticateSession } from './authenticate-session-rpc.ts';
import { KeyLogin } from './key-login.ts';
import { loginHandlers } from './login-handlers.ts';
import { SessionChangeStore } from './session-change-store.ts';
import { sessionHandlers } from './session-handlers.ts';
import { SessionStore } from './session-store.ts';
import { SessionSystemStore } from './session-system-store.ts';

export interface SessionsOptions {
  app: Pool;
  system: Pool;
  changes: Changes;
  recordChange: RecordChange;
  publicUrl: string;
}

const deletion = { everyMs: 60_000, batch: 1_000 };

/** Sessions of people who use pages of the gateway in a browser. */
export function createSessions(
  { log }: Shell,
  { app, system, changes, recordChange, publicUrl }: SessionsOptions,
) {
  const keys = new ApiKeySystemStore(system);
  const ofAll = new SessionSystemStore(system);
  const sessions = new SessionChangeStore({ app, system, record: recordChange });
  const refusals = new Refusals({ service: 'tenant', system, log });
  const lastUse = new LastUse({ touch: (id) => ofAll.touch(id), log, of: 'sessions' });
  const lastUseOfKeys = new LastUse({ touch: (id) => keys.touch(id), log });
  const logins = new KeyLogin({
    // Requests without a key, however many, take one connection.
    findKey: batchedFinder(
      (ids) => keys.findToAuthenticate(ids),
      ({ keyId }) => keyId,
    ),
    noteUse: (id) => lastUseOfKeys.note(id),
    openSession: (session, from) => sessions.open(session, from),
  });
  const findSession = batchedFinder(
    (tokens) => ofAll.find(tokens),
    ({ tokenSha256 }) => tokenSha256,
  );
  const cookie = new HostCookie(sessionCookie, publicUrl);
  return {
    handlers: sessionHandlers({ sessions: new SessionStore(app), ofAll, changes }),
    rawHandlers: loginHandlers({ logins, sessions, findSession, refusals, cookie, publicUrl }),
    rpcs: { authenticateSession: authenticateSession({ sessions: ofAll, lastUse }) },
    parts: [
      ...[refusals, lastUse, lastUseOfKeys],
      new PeriodicWork({
        task: 'delete ended sessions',
        log,
        everyMs: deletion.everyMs,
        round: async () => (await ofAll.deleteEnded(deletion.batch)) === deletion.batch,
      }),
    ],
  };
}
