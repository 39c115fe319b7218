import type { RecordChange } from '@gatehouse/audited-changes/changes';
import { batchedFinder } from '@gatehouse/kit/batched';
import type { Pool } from '@gatehouse/pg/pool';
import { Refusals } from '@gatehouse/public-access/refusals';
import type { Shell } from '@gatehouse/shell/shell';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { ApiKeySystemStore } from '../keys/api-key-system-store.ts';
import type { BrowserSessions } from '../sessions/browser-session-handlers.ts';
import { DeviceLogins, deviceLoginHandlers } from './device-login-handlers.ts';
import { DeviceLoginSystemStore, oldDeviceLogins } from './device-login-system-store.ts';
import { devicePageHandlers } from './device-page-handlers.ts';
import { oldProgramKeys, ProgramKeySystemStore } from './program-key-system-store.ts';

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

/** Keys that people give to programs on their machines by a code. */
export function createDeviceLogins({ log }: Shell, options: DeviceLoginsOptions) {
  const { system, proved, recordChange, browsers, refusals, config } = options;
  const { PUBLIC_URL: publicUrl, CLI_KEY_TTL: ttlSeconds } = config;
  const keysAsSent = new ApiKeySystemStore(options.logins);
  const logins = new DeviceLogins({
    waiting: new DeviceLoginSystemStore(options.logins),
    decided: new DeviceLoginSystemStore(proved),
    findKey: batchedFinder(
      (ids) => keysAsSent.findToAuthenticate(ids),
      ({ keyId }) => keyId,
    ),
    keysAsSent: new ProgramKeySystemStore(options.logins, recordChange),
    keys: new ProgramKeySystemStore(proved, recordChange),
    decisions: new Refusals({ service: 'tenant', system, log }),
    ...{ refusals, ttlSeconds, publicUrl },
  });
  return {
    rawHandlers: {
      ...deviceLoginHandlers(logins, log),
      ...devicePageHandlers({ logins, browsers, ttl: hoursAndMinutes(ttlSeconds) }),
    },
    parts: cleanUp(log, system, [oldDeviceLogins, oldProgramKeys]),
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
