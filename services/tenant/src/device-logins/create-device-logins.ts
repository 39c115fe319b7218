import { batchedFinder } from '@gatehouse/kit/batched';
import { Refusals } from '@gatehouse/public-access/refusals';
import type { Shell } from '@gatehouse/shell/shell';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { ApiKeySystemStore } from '../keys/api-key-system-store.ts';
import type { BrowserSessions } from '../sessions/browser-session-handlers.ts';
import { DeviceLogins, deviceLoginHandlers } from './device-login-handlers.ts';
import { DeviceLoginSystemStore, oldDeviceLogins } from './device-login-system-store.ts';
import { devicePageHandlers } from './device-page-handlers.ts';
import { oldProgramKeys, ProgramKeySystemStore } from './program-key-system-store.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';

/** Keys given by people to programs on their machines, by a code. */
export function createDeviceLogins(
  { log }: Shell,
  { system, logins: gate, proved, recordChange, config }: BaseDependencies,
  { browsers, refusals }: { browsers: BrowserSessions; refusals: Refusals },
) {
  const { PUBLIC_URL: publicUrl, CLI_KEY_TTL: ttlSeconds } = config;
  const keysAsSent = new ApiKeySystemStore(gate);
  const logins = new DeviceLogins({
    waiting: new DeviceLoginSystemStore(gate),
    decided: new DeviceLoginSystemStore(proved),
    findKey: batchedFinder(
      (ids) => keysAsSent.findToAuthenticate(ids),
      ({ keyId }) => keyId,
    ),
    keysAsSent: new ProgramKeySystemStore(gate, recordChange),
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
