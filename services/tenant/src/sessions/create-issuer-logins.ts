import { sessionCookie } from '@gatehouse/contract/sessions';
import { inBatches, PeriodicWork } from '@gatehouse/kit/background-loop';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { HostCookie } from '@gatehouse/kit/host-cookie';
import type { Refusals } from '@gatehouse/public-access/refusals';
import { sealedTexts } from '@gatehouse/secrets/sealed-texts';
import type { Shell } from '@gatehouse/shell/shell';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { minuteMs, retryMs } from '@gatehouse/kit/bounds';
import { finishing, loginsDeletedAtOnce } from '../bounds.ts';
import { makeIssuers } from '../issuers/make-issuers.ts';
import { hasKeysBeyond, keepOnlyRights } from '../keys/login-key-system-store.ts';
import { backchannelLogoutHandlers, IssuerLogouts } from './backchannel-logout-handlers.ts';
import type { BrowserSessions } from './browser-session-handlers.ts';
import { issuerLoginHandlers, IssuerLogins, type IssuerLoginDependencies } from './issuer-login-handlers.ts';
import { issuerMetrics } from './issuer-metrics.ts';
import { KnownBrowsers } from './known-browsers.ts';
import { RevalidationSystemStore } from './revalidation-system-store.ts';
import { SessionRevalidation } from './session-revalidation-job.ts';
import { LoginStateSystemStore } from './login-state-system-store.ts';
import { loginStates } from './login-state.ts';
import { LoginSystemStore } from './login-system-store.ts';
import { contextOfLogin } from './login.ts';
import { deleteOldLogins, oldIssuerLogouts, oldUsedTokens } from './old-login-system-store.ts';
import { settleMemberships } from './memberships.ts';
import type { SessionChangeStore } from './session-change-store.ts';
import { oldRevocations, TokenRevocationSystemStore } from './token-revocation-system-store.ts';
import { TokenRevocations } from './token-revocations-job.ts';
import { unreadGroupsReport } from './unread-groups-system-store.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';

export interface IssuerLoginsOptions {
  sessions: SessionChangeStore;
  browsers: BrowserSessions;
  refusals: Refusals;
}

/** Too many logins of a person wait: others may send a cookie stolen from a browser of the person. */
class PersonHasNoPlace extends Error {}

/** Sessions of people who log in at OpenID Connect issuers. */
export function createIssuerLogins(
  shell: Shell,
  { config, keyRing, system, logins: gate, proved, recordChange, raise }: BaseDependencies,
  { sessions, browsers, refusals }: IssuerLoginsOptions,
) {
  const { log, registry } = shell;
  const { PUBLIC_URL: publicUrl, CLI_KEY_TTL: deviceKeySeconds } = config;
  const { issuers, parts: waysOut } = makeIssuers(shell, config);
  const metrics = issuerMetrics(registry, [...issuers.keys()]);
  const states = new LoginStateSystemStore(gate);
  const logins = new LoginSystemStore(proved);
  const revalidations = new RevalidationSystemStore(system, deviceKeySeconds);
  const keepOnly = keepOnlyRights(proved, recordChange);
  const secrets = sealedTexts(keyRing, contextOfLogin);
  const settle = settleMemberships({
    findTenants: (person, names) => logins.findTenants(person, names),
    keepOnly,
  });
  const turns = turnsOf([...issuers.keys()]);
  const issuerLogins = new IssuerLogins({
    ...{ secrets, states, logins, sessions, settleMemberships: settle, inTurn: turns, log },
  });
  const waiting = new TokenRevocationSystemStore(system);
  const revocations = new TokenRevocations({
    ...{ issuers, secrets, revalidations, waiting, log },
    count: metrics.countRevocation,
  });
  const issuerLogouts = new IssuerLogouts({ issuers, secrets, logins, sessions, revocations, log });
  return {
    /** Their names. */
    issuers: [...issuers.keys()],
    issuerLogouts,
    rawHandlers: {
      ...issuerLoginHandlers({
        ...{ issuers, browsers, refusals, log, logins: issuerLogins, states: loginStates(keyRing) },
        cookie: new HostCookie(`${sessionCookie}-login`, publicUrl),
        knownBrowsers: new KnownBrowsers(keyRing, publicUrl),
      }),
      ...backchannelLogoutHandlers({ issuers, issuerLogouts, refusals, log }),
    },
    parts: [
      ...waysOut,
      revocations,
      new SessionRevalidation({
        ...{ issuers, secrets, sessions, revocations, keepOnly, log },
        ...{ logins: revalidations, settleMemberships: settle, hasKeysBeyond: hasKeysBeyond(proved) },
        reportUnread: unreadGroupsReport(system, raise),
        count: metrics.countLook,
      }),
      // Each on its own: an issuer that hangs delays no other.
      ...[...issuers.values()].map((issuer) => {
        const round = (): Promise<boolean> => revocations.retry(issuer);
        return new PeriodicWork({ task: 'revoke refresh tokens again', log, everyMs: retryMs, round });
      }),
      new PeriodicWork({
        ...{ task: 'delete old logins', log, everyMs: minuteMs },
        round: inBatches(loginsDeletedAtOnce, (limit) => deleteOldLogins(system, limit, deviceKeySeconds)),
      }),
      ...cleanUp(log, system, [oldRevocations, oldUsedTokens, oldIssuerLogouts]),
    ],
  };
}

/** Turns at each issuer, of networks and of people with known browsers; more of a person take those of networks. */
function turnsOf(issuers: readonly string[]): IssuerLoginDependencies['inTurn'] {
  const { ofNetworks, ofPeople } = finishing;
  const tooMany = (): Error => new PersonHasNoPlace();
  const queues = new Map(
    issuers.map((name) => [
      name,
      { networks: new FairQueue(ofNetworks), people: new FairQueue({ ...ofPeople, tooMany }) },
    ]),
  );
  return async (issuer, { network, person }, work) => {
    const issuerQueues = queues.get(issuer);
    if (issuerQueues === undefined) throw new Error(`there is no issuer ${issuer}`);
    if (person !== null) {
      try {
        return await issuerQueues.people.run(person, work);
      } catch (error) {
        if (!(error instanceof PersonHasNoPlace)) throw error;
      }
    }
    return issuerQueues.networks.run(network, work);
  };
}
