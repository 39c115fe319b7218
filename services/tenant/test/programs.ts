import { expect } from '@jest/globals';
import { deviceGrant } from '@gatehouse/contract/device-logins';
import { parseKeyText } from '@gatehouse/identity/key-text';
import { Browser, type Sent, type Shown } from './browser.ts';
import type { AnswerBody, TenantServiceUnderTest, TestTenant } from './tenant-service.ts';

/** An answer to a program. */
export interface OAuth {
  status: number;
  headers: Headers;
  body: Record<string, string | number> & { error?: string };
}

/** A login that a program has started, from an address of its own. */
export interface Started {
  device: string;
  code: string;
  network: string;
}

let networks = 0;

/** An address that no other request has, because each counts requests that prove nothing. */
export function newNetwork(): string {
  networks += 1;
  return `198.51.${networks >> 8}.${networks & 255}`;
}

/** Programs that ask for keys, and the people who confirm them. */
export class Programs extends Browser {
  readonly #tenants: TenantServiceUnderTest;
  readonly tenant: TestTenant;

  constructor(tenants: TenantServiceUnderTest, tenant: TestTenant) {
    super(tenants);
    this.#tenants = tenants;
    this.tenant = tenant;
  }

  /** A request of a program, as a form. */
  async send(path: string, fields: Record<string, string>, sent: Sent = {}): Promise<OAuth> {
    const { text, ...answer } = await this.browse(path, {
      ...{ form: fields, headers: {}, network: newNetwork() },
      ...sent,
    });
    return { ...answer, body: JSON.parse(text) as OAuth['body'] };
  }

  async start(sent: Sent = {}): Promise<Started> {
    const network = newNetwork();
    const { status, body } = await this.send(
      '/login/device',
      { client_id: 'gatehouse' },
      { network, ...sent },
    );
    expect([status, body]).toEqual([200, expect.any(Object)]);
    return { device: String(body['device_code']), code: String(body['user_code']), network };
  }

  /** Polls as if the interval had passed since the poll before. */
  async poll(started: Started, sent: Sent = {}): Promise<OAuth> {
    await this.passInterval();
    return this.pollAtOnce(started, sent);
  }

  async passInterval(): Promise<void> {
    await this.#tenants.rows(`update tenant.device_logins set polled_at = polled_at - interval '5 seconds'`);
  }

  pollAtOnce({ device, network }: Started, sent: Sent = {}): Promise<OAuth> {
    return this.send('/login/token', { grant_type: deviceGrant, device_code: device }, { network, ...sent });
  }

  renew(key: string, sent?: Sent): Promise<OAuth> {
    return this.send('/login/token', { grant_type: 'refresh_token', refresh_token: key }, sent);
  }

  /** The hidden fields of the form that the page has for a code. */
  async formOf(code: string, cookie: string): Promise<Record<string, string>> {
    const page = await this.browse(`/device?user_code=${code}`, { method: 'GET', headers: {}, cookie });
    const hidden = page.text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
    return Object.fromEntries(Array.from(hidden, ([, name = '', value = '']) => [name, value]));
  }

  async decide(decision: string, code: string, cookie: string): Promise<Shown> {
    return this.browse('/device', { form: { ...(await this.formOf(code, cookie)), decision }, cookie });
  }

  /** The key that a session has confirmed. */
  async keyOf(cookie: string): Promise<{ key: string; seconds: number; scope: string }> {
    const started = await this.start();
    expect((await this.decide('allow', started.code, cookie)).text).toContain('Allowed');
    const { status, body } = await this.poll(started);
    expect([status, body.error]).toEqual([200, undefined]);
    const seconds = Number(body['expires_in']);
    return { key: String(body['access_token']), seconds, scope: String(body['scope']) };
  }

  /** A key, and the cookie of a session that was made with it. */
  async person(fields: Record<string, unknown> = {}): Promise<AnswerBody & { cookie: string }> {
    const key = await this.#tenants.makeKey(this.tenant.admin, fields);
    return { ...key, cookie: await this.logIn(key.key) };
  }

  async principalOf(key: string) {
    const { result } = await this.#tenants.authenticate(key);
    return result?.$case === 'key' ? result.value : undefined;
  }

  /** The id of a key in the list, which is not the one that its requests count for. */
  async idOf(key: string): Promise<string> {
    const find = 'select id from tenant.api_keys where key_id = $1';
    const [row] = await this.#tenants.rows<{ id: string }>(find, [parseKeyText(key)?.keyId]);
    return row?.id ?? '';
  }

  /** The entries of a key in the audit log, in order. */
  async changesOf(id: string): Promise<string[]> {
    const rows = await this.#tenants.rows<{ line: string }>(
      `select action || ' by ' || actor_key_id as line from tenant.audit_log where resource_id = $1 order by at`,
      [id],
    );
    return rows.map(({ line }) => line);
  }
}
