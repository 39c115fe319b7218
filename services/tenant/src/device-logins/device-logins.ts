import type { StartedDeviceLogin, Token } from '@gatehouse/contract/device-logins';
import { newKeyText, parseKeyText } from '@gatehouse/identity/key-text';
import { networkOf, wideNetworkOf } from '@gatehouse/kit/client-network';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { newRandomToken, tokenSha256 } from '@gatehouse/kit/random-token';
import { retryAfterHeaders } from '@gatehouse/kit/retry-after';
import type { RefusalKind } from '@gatehouse/public-access/refusals';
import type { ApiKey } from '../keys/api-key.ts';
import { judge, type KeyHashes } from '../keys/authentication.ts';
import { effectiveScopes } from '../keys/key-rules.ts';
import type { From, Session } from '../sessions/session.ts';
import {
  deviceLoginLife,
  newUserCode,
  readUserCode,
  type NewDeviceLogin,
  type TooManyWait,
  type WaitingProgram,
} from './device-login.ts';
import { OAuthError } from './oauth-error.ts';

/** A login that a program polls. */
export interface PolledLogin {
  id: string;
  state: 'waiting' | 'allowed' | 'denied' | 'expired';
  /** The tenant of the session that allowed it; null for that of an owner. */
  tenantId: string | null;
  /** Whether the poll before was less than the interval ago, by a second of tolerance. */
  isEarly: boolean;
}

/** A key as far as its renewal and revocation need it. */
export interface KeyOfProgram extends KeyHashes {
  id: string;
  tenantId: string | null;
  confirmedBy: string | null;
}

/** A key as the program that gets it learns of it. */
interface IssuedKey extends Pick<ApiKey, 'role' | 'scopes'> {
  /** By the clock of the database, as its end. */
  expiresInS: number;
}

export interface DeviceLoginDependencies {
  /** Adds a login; returns the reason if too many wait. */
  insert: (login: NewDeviceLogin) => Promise<TooManyWait | null>;
  /** By the hexadecimal hash of the code that the program keeps. */
  findPolled: (deviceSha256: string) => Promise<PolledLogin | null>;
  /** False if the poll came too early. */
  notePoll: (id: string) => Promise<boolean>;
  /** By the hexadecimal hash of the code that the person reads. */
  findWaiting: (userSha256: string) => Promise<WaitingProgram | null>;
  decide: (id: string, sessionId: string | null) => Promise<boolean>;
  /** Finds a key by the public half of its text. */
  findKey: (keyId: string) => Promise<KeyOfProgram | null>;
  /** Whether the key of a program had a secret before a renewal. */
  wasReplaced: (id: string, secretSha256: Buffer) => Promise<boolean>;
  keys: {
    issue: (login: PolledLogin, key: NewText & { keyId: string }, from: From) => Promise<IssuedKey | null>;
    renew: (
      key: NewText & Pick<KeyOfProgram, 'tenantId'>,
      presentedSha256: Buffer,
      from: From,
    ) => Promise<IssuedKey | 'reused' | null>;
    revoke: (key: KeyOfProgram, from: From) => Promise<void>;
  };
  /**
   * Counts a request that proves nothing against its sender: the address, or the id of the login; and a decision against
   * the key of its session. Throws `rate_limit_exceeded` beyond the limit.
   */
  count: (kind: DeviceRefusal, sender: string | null) => Promise<void>;
  ttlSeconds: number;
  publicUrl: string;
}

/** The proofs that requests of programs and people may lack, and their decisions. */
type DeviceRefusal = Extract<
  RefusalKind,
  'device_code' | 'early_poll' | 'key' | 'program_decision' | 'user_code'
>;

interface NewText {
  id: string;
  secretSha256: Buffer;
  ttlSeconds: number;
}

/** Gives programs keys that a person has confirmed by a code. */
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
    const { insert, publicUrl } = this.#options;
    const [deviceCode, userCode] = [newRandomToken(), newUserCode()];
    const hashes = { deviceSha256: tokenSha256(deviceCode), userSha256: tokenSha256(userCode) };
    const { clientIp } = from;
    const address = clientIp ?? '';
    const networks = { network: networkOf(address), wideNetwork: wideNetworkOf(address) };
    const refused = await insert({ id: newId(), ...hashes, clientId, clientIp, ...networks });
    if (refused !== null) throw tooMany(refused);
    const page = `${publicUrl}/device`;
    return {
      ...{ device_code: deviceCode, user_code: userCode },
      ...{ verification_uri: page, verification_uri_complete: `${page}?user_code=${userCode}` },
      expires_in: deviceLoginLife.minutes * 60,
      interval: deviceLoginLife.intervalSeconds,
    };
  }

  /** The key, once a person has allowed it. Throws {@link OAuthError} before that, and after all other ends. */
  async poll(deviceCode: string, from: From): Promise<Token> {
    const { findPolled, notePoll, keys, count } = this.#options;
    const login = await findPolled(tokenSha256(deviceCode).toString('hex'));
    if (login === null) {
      await count('device_code', from.clientIp);
      throw new OAuthError('invalid_grant', 'The device code is unknown, or was used.');
    }
    if (login.state === 'expired') throw new OAuthError('expired_token', 'The device code has expired.');
    // An early poll counts against its own code: other programs of the network poll on.
    if (login.isEarly || !(await notePoll(login.id))) {
      await count('early_poll', login.id);
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

  /** Revokes the key of a program. A text that is no valid key is no error (RFC 7009 §2.2). Throws {@link OAuthError}. */
  async revoke(text: string, from: From): Promise<void> {
    const match = await this.#find(text, from);
    if (match === null) return;
    if (match.key.confirmedBy === null)
      throw new OAuthError('unsupported_token_type', 'Only keys of programs are revoked here.');
    await this.#options.keys.revoke(match.key, from);
  }

  /** The program that waits with a code; null for a text that is none, which counts against the network. */
  async find(userCode: string, from: From): Promise<(WaitingProgram & { userCode: string }) | null> {
    const { findWaiting, count } = this.#options;
    const read = readUserCode(userCode);
    const program = read === null ? null : await findWaiting(tokenSha256(read).toString('hex'));
    if (program !== null && read !== null) return { ...program, userCode: read };
    await count('user_code', from.clientIp);
    return null;
  }

  /** Allows a login in a session, or denies it. False if another decision came first, or it has expired. */
  async decide(id: string, session: Pick<Session, 'id' | 'keyId'>, isAllowed: boolean): Promise<boolean> {
    // A denied program frees its place while its row stays, and the key of an allowed one is in the audit log.
    await this.#options.count('program_decision', session.keyId);
    return this.#options.decide(id, isAllowed ? session.id : null);
  }

  #lives(secretSha256: Buffer): Pick<NewText, 'secretSha256' | 'ttlSeconds'> {
    return { secretSha256, ttlSeconds: this.#options.ttlSeconds };
  }

  /** `replaced`: also by a text that the key of a program had before. A text that proves nothing counts. */
  async #find(
    text: string,
    from: From,
    { replaced } = { replaced: false },
  ): Promise<{ key: KeyOfProgram; keyId: string; secretSha256: Buffer } | null> {
    const { findKey, wasReplaced, count } = this.#options;
    const parsed = parseKeyText(text);
    const key = parsed === null ? null : await findKey(parsed.keyId);
    if (parsed !== null && key !== null) {
      const { secretSha256 } = parsed;
      if (judge(key, secretSha256) === 'accepted') return { key, ...parsed };
      if (replaced && key.confirmedBy !== null && (await wasReplaced(key.id, secretSha256)))
        return { key, ...parsed };
    }
    await count('key', from.clientIp);
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

function tokenOf(text: string, { expiresInS, role, scopes }: IssuedKey): Token {
  return {
    access_token: text,
    token_type: 'Bearer',
    expires_in: expiresInS,
    scope: effectiveScopes(role, scopes).join(' '),
  };
}
