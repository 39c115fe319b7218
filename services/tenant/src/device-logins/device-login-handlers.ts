import {
  deviceGrant,
  getToken,
  refreshGrant,
  revokeToken,
  startDeviceLogin,
  type StartedDeviceLogin,
  type Token,
} from '@gatehouse/contract/device-logins';
import type { RawHandler } from '@gatehouse/http/app';
import { newKeyText, parseKeyText } from '@gatehouse/identity/key-text';
import { networkOf, wideNetworkOf } from '@gatehouse/kit/client-network';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { newRandomToken, tokenSha256 } from '@gatehouse/kit/random-token';
import { retryAfterHeaders } from '@gatehouse/kit/retry-after';
import type { Refusals } from '@gatehouse/public-access/refusals';
import { deviceLoginLife } from '../bounds.ts';
import type { KeyToAuthenticate } from '../keys/api-key-system-store.ts';
import { judge } from '../keys/authentication.ts';
import { effectiveScopes } from '../keys/key-rules.ts';
import type { From, Session } from '../sessions/session.ts';
import type { DeviceLoginSystemStore } from './device-login-system-store.ts';
import { newUserCode, readUserCode, type TooManyWait, type WaitingProgram } from './device-login.ts';
import { OAuthError, oauthHandler } from './oauth-handlers.ts';
import type { NewProgramKey, ProgramKey, ProgramKeySystemStore } from './program-key-system-store.ts';

export interface DeviceLoginDependencies {
  /** `waiting` for unproved requests, `decided` for proved ones. */
  waiting: DeviceLoginSystemStore;
  decided: DeviceLoginSystemStore;
  /** Finds a key by the public half of its text, for unproved requests. */
  findKey: (keyId: string) => Promise<KeyToAuthenticate | null>;
  /** `keysAsSent` for unproved requests, `keys` for proved ones. */
  keysAsSent: ProgramKeySystemStore;
  keys: ProgramKeySystemStore;
  /** Count decisions by the key of their session, and unproved requests by their sender. */
  decisions: Refusals;
  refusals: Refusals;
  ttlSeconds: number;
  publicUrl: string;
}

/** `/login/device`, `/login/token` and `/login/revoke`, for programs. */
export function deviceLoginHandlers(logins: DeviceLogins, log: Logger): Record<string, RawHandler> {
  return {
    'login.device': oauthHandler(startDeviceLogin, log, ({ client_id: id }, from) => logins.start(id, from)),
    'login.token': oauthHandler(getToken, log, (fields, from) => {
      const { grant_type: grant, device_code: code, refresh_token: key } = fields;
      if (grant === deviceGrant) return logins.poll(required(code, 'device_code'), from);
      if (grant === refreshGrant) return logins.renew(required(key, 'refresh_token'), from);
      throw new OAuthError('unsupported_grant_type', 'The grant_type is not supported.');
    }),
    'login.revoke': oauthHandler(revokeToken, log, async ({ token }, from) => {
      await logins.revoke(token, from);
      return {};
    }),
  };
}

function required(value: string | undefined, name: string): string {
  if (value === undefined) throw new OAuthError('invalid_request', `Missing required field: ${name}.`);
  return value;
}

/** Gives programs keys after a person has confirmed them by a code. */
export class DeviceLogins {
  readonly #options: DeviceLoginDependencies;

  constructor(options: DeviceLoginDependencies) {
    this.#options = options;
  }

  /**
   * Throws `rate_limit_exceeded` for a network of which too many wait, and `service_unavailable` if too many of all
   * networks do. These bounds hold the number of logins; starts themselves are not counted.
   */
  async start(clientId: string, from: From): Promise<StartedDeviceLogin> {
    const { waiting, publicUrl } = this.#options;
    const [deviceCode, userCode] = [newRandomToken(), newUserCode()];
    const hashes = { deviceSha256: tokenSha256(deviceCode), userSha256: tokenSha256(userCode) };
    const { clientIp } = from;
    const address = clientIp ?? '';
    const networks = { network: networkOf(address), wideNetwork: wideNetworkOf(address) };
    const refused = await waiting.insert({ id: newId(), ...hashes, clientId, clientIp, ...networks });
    if (refused !== null) throw tooMany(refused);
    const page = `${publicUrl}/device`;
    return {
      ...{ device_code: deviceCode, user_code: userCode },
      ...{ verification_uri: page, verification_uri_complete: `${page}?user_code=${userCode}` },
      expires_in: deviceLoginLife.minutes * 60,
      interval: deviceLoginLife.intervalSeconds,
    };
  }

  /** The key, once a person has allowed it. Throws {@link OAuthError} before, and after any other end. */
  async poll(deviceCode: string, from: From): Promise<Token> {
    const { waiting, keys, refusals } = this.#options;
    const login = await waiting.findPolled(tokenSha256(deviceCode).toString('hex'));
    if (login === null) {
      await refusals.count('device_code', from.clientIp);
      throw new OAuthError('invalid_grant', 'The device code is unknown, or was used.');
    }
    if (login.state === 'expired') throw new OAuthError('expired_token', 'The device code has expired.');
    // An early poll counts against its own code: other programs of the network poll on.
    if (login.isEarly || !(await waiting.notePoll(login.id))) {
      await refusals.count('early_poll', login.id);
      throw new OAuthError('slow_down', `Wait ${deviceLoginLife.intervalSeconds} seconds between polls.`);
    }
    if (login.state === 'denied') throw new OAuthError('access_denied', 'The person has denied the key.');
    if (login.state === 'waiting')
      throw new OAuthError('authorization_pending', 'The person has not decided yet.');
    const { text, keyId, secretSha256 } = newKeyText();
    const key = await keys.issue(login, { id: newId(), keyId, ...this.#lives(secretSha256) }, from);
    if (key === null) throw new OAuthError('invalid_grant', 'The login was used, or its session has ended.');
    return tokenOf(text, key);
  }

  /** A new text for the key of a program. Throws {@link OAuthError}. */
  async renew(text: string, from: From): Promise<Token> {
    const match = await this.#find(text, from, { replaced: true });
    if (match === null) throw new OAuthError('invalid_grant', 'The key is unknown, expired or revoked.');
    const { key, secretSha256: presentedSha256 } = match;
    if (key.confirmedBy === null) throw new OAuthError('invalid_grant', 'Only keys of programs are renewed.');
    const next = newKeyText(match.keyId);
    const renewal = { id: key.id, tenantId: key.tenantId, ...this.#lives(next.secretSha256) };
    const renewed = await this.#options.keys.renew(renewal, presentedSha256, from);
    if (renewed === 'reused')
      throw new OAuthError('invalid_grant', 'This text of the key was renewed before, so the key has ended.');
    if (renewed === null)
      throw new OAuthError('invalid_grant', 'The key, or that of the login which confirmed it, has ended.');
    return tokenOf(next.text, renewed);
  }

  /** Revokes the key of a program. An invalid key is no error (RFC 7009 §2.2). Throws {@link OAuthError}. */
  async revoke(text: string, from: From): Promise<void> {
    const match = await this.#find(text, from);
    if (match === null) return;
    if (match.key.confirmedBy === null)
      throw new OAuthError('unsupported_token_type', 'Only keys of programs are revoked here.');
    await this.#options.keys.revoke(match.key, from);
  }

  /** The program waiting with a code; null for an invalid code, which counts against the network. */
  async find(userCode: string, from: From): Promise<(WaitingProgram & { userCode: string }) | null> {
    const { waiting, refusals } = this.#options;
    const read = readUserCode(userCode);
    const program = read === null ? null : await waiting.findWaiting(tokenSha256(read).toString('hex'));
    if (program !== null && read !== null) return { ...program, userCode: read };
    await refusals.count('user_code', from.clientIp);
    return null;
  }

  /** Allows a login in a session, or denies it. False if another decision came first, or it has expired. */
  async decide(id: string, session: Pick<Session, 'id' | 'keyId'>, isAllowed: boolean): Promise<boolean> {
    // A denied program frees its place while its row stays, and the key of an allowed one is in the audit log.
    await this.#options.decisions.count('program_decision', session.keyId);
    return this.#options.decided.decide(id, isAllowed ? session.id : null);
  }

  #lives(secretSha256: Buffer): Pick<NewProgramKey, 'secretSha256' | 'ttlSeconds'> {
    return { secretSha256, ttlSeconds: this.#options.ttlSeconds };
  }

  /** `replaced`: also by an earlier text of the program's key. An invalid text counts against its sender. */
  async #find(
    text: string,
    from: From,
    { replaced } = { replaced: false },
  ): Promise<{ key: KeyToAuthenticate; keyId: string; secretSha256: Buffer } | null> {
    const { findKey, keysAsSent, refusals } = this.#options;
    const parsed = parseKeyText(text);
    const key = parsed === null ? null : await findKey(parsed.keyId);
    if (parsed !== null && key !== null) {
      const { secretSha256 } = parsed;
      if (judge(key, secretSha256) === 'accepted') return { key, ...parsed };
      if (replaced && key.confirmedBy !== null && (await keysAsSent.wasReplaced(key.id, secretSha256)))
        return { key, ...parsed };
    }
    await refusals.count('key', from.clientIp);
    return null;
  }
}

function tooMany(which: TooManyWait): AppError {
  const headers = retryAfterHeaders(10_000);
  return which === 'ofNetwork'
    ? new AppError('rate_limit_exceeded', 'Too many programs of your network wait for a person.', { headers })
    : new AppError('service_unavailable', 'Too many programs wait for a person. Try again shortly.', {
        headers,
      });
}

function tokenOf(text: string, { expiresInS, role, scopes }: ProgramKey): Token {
  return {
    access_token: text,
    token_type: 'Bearer',
    expires_in: expiresInS,
    scope: effectiveScopes(role, scopes).join(' '),
  };
}
