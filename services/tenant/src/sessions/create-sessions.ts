import { sessionCookie } from '@gatehouse/contract/sessions';
import { HostCookie } from '@gatehouse/kit/host-cookie';
import { Batched, batchedFinder } from '@gatehouse/kit/batched';
import type { Pool } from '@gatehouse/pg/pool';
import { Refusals } from '@gatehouse/public-access/refusals';
import type { Shell } from '@gatehouse/shell/shell';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { ApiKeySystemStore } from '../keys/api-key-system-store.ts';
import { LastUseWriter } from '../keys/last-use-writer.ts';
import { createLookup } from '../keys/lookup.ts';
import { activeUser, noteLogin, noteRevalidation } from '../users/login-user-store.ts';
import { authenticateSession } from './authenticate-session-rpc.ts';
import { BrowserSessions } from './browser-session-handlers.ts';
import { createIssuerLogins } from './create-issuer-logins.ts';
import { KeyLogin } from './key-login.ts';
import { loginHandlers } from './login-handlers.ts';
import { loginLinkHandlers } from './login-link-handlers.ts';
import { LoginNetworkSystemStore, oldLoginNetworks } from './login-network-system-store.ts';
import { LoginTicketSystemStore, oldLoginTickets } from './login-ticket-system-store.ts';
import { SessionChangeStore } from './session-change-store.ts';
import { sessionHandlers } from './session-handlers.ts';
import { SessionStore } from './session-store.ts';
import { oldSessions, SessionSystemStore, type StoredSession } from './session-system-store.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';

/** Sessions of people who use pages of the gateway in a browser. */
export function createSessions(shell: Shell, base: BaseDependencies) {
  const { log } = shell;
  const { config, app, system, logins: gate, proved, known, unknown, changes, keyRing, recordChange } = base;
  const { PUBLIC_URL: publicUrl } = config;
  const systemStore = new SessionSystemStore(system);
  const finderOf = (pool: Pool) => {
    const toAuthenticate = new SessionSystemStore(pool);
    return (tokens: readonly string[]) => toAuthenticate.find(tokens);
  };
  const tokenOf = ({ tokenSha256 }: StoredSession): string => tokenSha256;
  const find = createLookup({ known: finderOf(known), others: finderOf(unknown) }, tokenOf);
  const networks = new LoginNetworkSystemStore(system);
  const noted = new LastUseWriter({ touch: (some) => networks.note(some), log, subject: 'networks' });
  const sessions = new SessionChangeStore({
    ...{ app, proved, record: recordChange, deviceKeySeconds: config.CLI_KEY_TTL },
    noteNetwork: (network) => noted.note(network),
    noteLogin: (db, user) => noteLogin(db, keyRing, user),
    noteRevalidation: (db, user) => noteRevalidation(db, keyRing, user),
    assertActiveUser: async (db, { tenantId, userId: name }) => {
      await activeUser(db, keyRing, { tenantId, name });
    },
  });
  const refusals = new Refusals({ service: 'tenant', system: gate, log });
  const lastUse = new LastUseWriter({ touch: (ids) => systemStore.touch(ids), log, subject: 'sessions' });
  const keys = new ApiKeySystemStore(system);
  const lastUseOfKeys = new LastUseWriter({ touch: (ids) => keys.touch(ids), log });
  const keysOfLogins = new ApiKeySystemStore(gate);
  const logins = new KeyLogin({
    // Requests without a key, however many, take one connection.
    findKey: batchedFinder(
      (ids) => keysOfLogins.findToAuthenticate(ids),
      ({ keyId }) => keyId,
    ),
    noteUse: (id) => lastUseOfKeys.note(id),
    openSession: (session, from) => sessions.open(session, from),
  });
  const findSession = batchedFinder(finderOf(gate), tokenOf);
  const cookie = new HostCookie(sessionCookie, publicUrl);
  const browsers = new BrowserSessions({ sessions, findSession, cookie, publicUrl });
  const tickets = new LoginTicketSystemStore(gate);
  const taken = new Batched((hashes: readonly string[]) => tickets.take(hashes));
  const issuerLogins = createIssuerLogins(shell, base, { sessions, browsers, refusals });
  const { issuers, issuerLogouts } = issuerLogins;
  return {
    /** For other features with pages for people in a session. */
    doors: { browsers, refusals },
    handlers: sessionHandlers({
      ...{ sessions: new SessionStore(app), systemStore, changes },
      forget: (session) => issuerLogouts.forget(session),
    }),
    rawHandlers: {
      ...loginHandlers({ logins, issuers, issuerLogouts, browsers, refusals }),
      ...loginLinkHandlers({ logins, browsers, refusals, take: (hash) => taken.get(hash) }),
      ...issuerLogins.rawHandlers,
    },
    rpcs: { authenticateSession: authenticateSession({ find, lastUse }) },
    parts: [
      ...[...refusals.parts, lastUse, lastUseOfKeys, noted, ...issuerLogins.parts],
      ...cleanUp(log, system, [oldSessions, oldLoginNetworks, oldLoginTickets]),
    ],
  };
}
