import type { RecordChange } from '@gatehouse/audited-changes/changes';
import { inBatches, PeriodicWork } from '@gatehouse/kit/background-loop';
import { Batched, batchedFinder } from '@gatehouse/kit/batched';
import type { Pool } from '@gatehouse/pg/pool';
import { Refusals } from '@gatehouse/public-access/refusals';
import type { Shell } from '@gatehouse/shell/shell';
import { ApiKeySystemStore } from '../keys/api-key-system-store.ts';
import type { BrowserSessions } from '../sessions/browser-session-handlers.ts';
import { deviceHandlers } from './device-handlers.ts';
import { DeviceLoginSystemStore } from './device-login-system-store.ts';
import type { NewDeviceLogin } from './device-login.ts';
import { DeviceLogins } from './device-logins.ts';
import { ProgramKeySystemStore } from './program-key-system-store.ts';

export interface DeviceLoginsOptions {
  system: Pool;
  /** For requests that have proved nothing, and for those that have; both act as `tenant_system`. */
  logins: Pool;
  proved: Pool;
  recordChange: RecordChange;
  browsers: BrowserSessions;
  refusals: Refusals;
  config: { PUBLIC_URL: string; CLI_KEY_TTL: number };
}

const deletion = { everyMs: 60_000, batch: 1_000 };

/** Keys that people give to programs on their machines by a code. */
export function createDeviceLogins({ log }: Shell, options: DeviceLoginsOptions) {
  const { system, proved, recordChange, browsers, refusals, config } = options;
  const { PUBLIC_URL: publicUrl, CLI_KEY_TTL: ttlSeconds } = config;
  const decisions = new Refusals({ service: 'tenant', system, log });
  const waiting = new DeviceLoginSystemStore(options.logins);
  const decided = new DeviceLoginSystemStore(proved);
  const keys = new ProgramKeySystemStore(proved, recordChange);
  const keysAsSent = new ProgramKeySystemStore(options.logins, recordChange);
  const allKeys = new ApiKeySystemStore(options.logins);
  const oldLogins = new DeviceLoginSystemStore(system);
  const oldKeys = new ProgramKeySystemStore(system, recordChange);
  // Requests without a key, however many, take one connection each.
  const inserted = new Batched((logins: readonly NewDeviceLogin[]) => waiting.insert(logins));
  const polls = new Batched((ids: readonly string[]) => waiting.notePolls(ids));
  const findReplaced = batchedFinder(
    (texts) =>
      keysAsSent.findReplaced(texts.map((text) => ({ id: text.slice(0, 36), hash: text.slice(37) }))),
    ({ id, hash }) => `${id} ${hash}`,
  );
  const logins = new DeviceLogins({
    insert: (login) => inserted.get(login),
    findPolled: batchedFinder(
      (hashes) => waiting.findPolled(hashes),
      ({ deviceSha256 }) => deviceSha256,
    ),
    notePoll: (id) => polls.get(id),
    findWaiting: batchedFinder(
      (hashes) => waiting.findWaiting(hashes),
      ({ userSha256 }) => userSha256,
    ),
    decide: (id, sessionId) => decided.decide(id, sessionId),
    findKey: batchedFinder(
      (ids) => allKeys.findToAuthenticate(ids),
      ({ keyId }) => keyId,
    ),
    wasReplaced: async (id, secretSha256) => {
      const hash = secretSha256.toString('hex');
      return (await findReplaced(`${id} ${hash}`)) !== null;
    },
    keys,
    count: (kind, sender) => (kind === 'program_decision' ? decisions : refusals).count(kind, sender),
    ...{ ttlSeconds, publicUrl },
  });
  return {
    rawHandlers: deviceHandlers({ logins, browsers, log, ttl: hoursAndMinutes(ttlSeconds) }),
    parts: [
      new PeriodicWork({
        task: 'delete old logins of programs',
        log,
        everyMs: deletion.everyMs,
        round: inBatches(deletion.batch, (limit) => oldLogins.deleteOld(limit)),
      }),
      new PeriodicWork({
        task: 'delete ended keys of programs',
        log,
        everyMs: 60 * deletion.everyMs,
        round: inBatches(deletion.batch, (limit) => oldKeys.deleteEnded(limit)),
      }),
    ],
  };
}

function hoursAndMinutes(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  const parts = [
    [Math.floor(minutes / 60), 'hours'],
    [minutes % 60, 'minutes'],
  ] as const;
  return parts.flatMap(([count, unit]) => (count === 0 ? [] : [`${count} ${unit}`])).join(' ');
}
