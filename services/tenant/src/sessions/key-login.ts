import { parseKeyText } from '@gatehouse/identity/key-text';
import { assertTenantActive } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { newRandomToken, tokenSha256 } from '@gatehouse/kit/random-token';
import { judge, type StoredKey } from '../keys/authentication.ts';
import { effectiveScopes } from '../keys/key-rules.ts';
import type { From, NamedSession, NewSession, Session } from './session.ts';

/** A valid key, with the hash of the presented secret. */
export type AcceptedKey = StoredKey & { presentedSha256: Buffer };

export interface OpenedSession {
  session: NamedSession;
  token: string;
}

export interface KeyLoginDependencies {
  /** Finds a key by the public half of its text. */
  findKey: (keyId: string) => Promise<StoredKey | null>;
  noteUse: (id: string) => void;
  openSession: (session: NewSession, from: From) => Promise<Session>;
}

/** Makes sessions of keys. */
export class KeyLogin {
  readonly #options: KeyLoginDependencies;

  constructor(options: KeyLoginDependencies) {
    this.#options = options;
  }

  /** Null for an invalid key. */
  async find(text: string): Promise<AcceptedKey | null> {
    const parsed = parseKeyText(text);
    return parsed === null ? null : this.accept(parsed.keyId, parsed.secretSha256);
  }

  /**
   * Null for an invalid key or another secret, and for a key of a command line: with a session it could confirm further
   * ones, which would outlive it. `keyId`: the public half of its text.
   */
  async accept(keyId: string, presentedSha256: Buffer): Promise<AcceptedKey | null> {
    const key = await this.#options.findKey(keyId);
    if (key === null || key.confirmedBy !== null) return null;
    return judge(key, presentedSha256) === 'accepted' ? { ...key, presentedSha256 } : null;
  }

  /** Throws `tenant_suspended`, `user_blocked`, and `rate_limit_exceeded` for too many logins with the key. */
  async open(key: AcceptedKey, from: From, openedBy: 'key' | 'link' = 'key'): Promise<OpenedSession> {
    const { tenantId, tenantSlug, tenantStatus, name, role, userId } = key;
    assertTenantActive(tenantStatus);
    const token = newRandomToken();
    const scopes = effectiveScopes(role, key.scopes);
    const session = await this.#options.openSession(
      {
        ...{
          id: newId(),
          tokenSha256: tokenSha256(token),
          keyId: key.id,
          keySecretSha256: key.presentedSha256,
        },
        ...{ tenantId, name, role, scopes, userId, loginId: null, openedBy },
      },
      from,
    );
    if (key.lastUseIsStale) this.#options.noteUse(key.id);
    return { session: { ...session, tenantSlug }, token };
  }
}
