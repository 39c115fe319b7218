import { setTimeout } from 'node:timers/promises';
import { ApiError, UnreachableError, type ApiClient } from './api-client.ts';
import { longestRenewalMs } from './bounds.ts';
import type { Profile } from './profiles.ts';

/** The answer of `POST /login/device` (RFC 8628 §3.2). */
export interface StartedLogin {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
  expires_in: number;
  interval: number;
}

interface Token {
  access_token: string;
  expires_in: number;
}

/** A key confirmed by a person, with its lifetime. */
type DeviceKey = Required<Pick<Profile, 'key' | 'device'>>;

const clientId = 'gatehouse';

/** Asks for a key, to be confirmed by a person with the code `show` shows, and waits for it. */
export async function askForKey(
  client: ApiClient,
  { signal, show }: { signal: AbortSignal; show: (started: StartedLogin) => void },
): Promise<DeviceKey> {
  const json = { client_id: clientId };
  const started = await client.json<StartedLogin>({ ...toLogin('device'), json, signal });
  show(started);
  const endsAt = Date.now() + started.expires_in * 1_000;
  let pauseMs = started.interval * 1_000;
  for (;;) {
    await setTimeout(pauseMs, undefined, { signal });
    const { device_code } = started;
    try {
      const poll = {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        ...{ device_code, client_id: clientId },
      };
      return keyOf(await client.json<Token>({ ...toLogin('token'), json: poll, signal }));
    } catch (error) {
      if (signal.aborted || !mayPass(error) || Date.now() > endsAt) throw error;
      // Five seconds more, also after a lost connection (RFC 8628 §3.5).
      if (!isPending(error)) pauseMs += 5_000;
    }
  }
}

/** A new text for the key of a profile. Its lifetime begins again. */
export async function renewKey(client: ApiClient, { key }: Profile): Promise<DeviceKey> {
  const json = { grant_type: 'refresh_token', refresh_token: key, client_id: clientId };
  const signal = AbortSignal.timeout(longestRenewalMs);
  try {
    return keyOf(await client.json<Token>({ ...toLogin('token'), json, signal }));
  } catch (error) {
    if (signal.aborted) throw new UnreachableError('The gateway did not answer in 20 seconds.');
    throw error;
  }
}

export async function revokeKey(client: ApiClient, { key }: Profile): Promise<void> {
  await client.json({ ...toLogin('revoke'), json: { token: key } });
}

/** Whether a key is in the last third of its lifetime, by the clock of this machine. */
export function isDue({ device }: Profile): boolean {
  if (device === undefined) return false;
  const [from, until] = [Date.parse(device.from), Date.parse(device.until)];
  return Date.now() >= until - (until - from) / 3;
}

export function hasExpired({ device }: Profile): boolean {
  return device !== undefined && Date.now() >= Date.parse(device.until);
}

function toLogin(action: string) {
  return { method: 'POST', path: `/login/${action}`, withoutKey: true };
}

function keyOf({ access_token: key, expires_in: seconds }: Token): DeviceKey {
  const now = Date.now();
  const device = { from: new Date(now).toISOString(), until: new Date(now + seconds * 1_000).toISOString() };
  return { key, device };
}

function isPending(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'authorization_pending';
}

/** Whether a poll may succeed later. */
function mayPass(error: unknown): boolean {
  if (error instanceof UnreachableError || isPending(error)) return true;
  return (
    error instanceof ApiError && (error.code === 'slow_down' || [429, 502, 503, 504].includes(error.status))
  );
}
