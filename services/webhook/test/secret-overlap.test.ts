import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { Receiver, type Received } from '@gatehouse/test/receiver';
import { Webhook } from 'standardwebhooks';
import { newStandardSecret } from '../src/signatures/signing-secret.ts';
import { forgetSecrets } from '../src/secrets/secret-system-store.ts';
import { makeChannel, postMessage, write, written, type TestChannel } from './channels-under-test.ts';
import { owner, WebhookServiceUnderTest, type AnswerBody, type TestTenant } from './webhook-service.ts';

let webhooks: WebhookServiceUnderTest;
let receiver: Receiver;
let app: Pool;
let system: Pool;
let tenant: TestTenant;

beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start({ EGRESS_ALLOW: '127.0.0.1' });
  receiver = await Receiver.start();
  const log = createLogger('test', 'silent');
  const { url } = webhooks.database;
  app = createPool({ url, role: 'webhook_app', max: 1, log });
  system = createPool({ url, role: 'webhook_system', max: 1, log });
});
beforeEach(() => {
  tenant = webhooks.makeTenant();
});
afterAll(async () => {
  await Promise.all([app.end(), system.end()]);
  await webhooks.stop();
  await receiver.stop();
});

/** The next request to a path, after those that have arrived. */
async function next(path: string, cause: () => Promise<unknown>): Promise<Received> {
  const before = receiver.at(path).length;
  await cause();
  return eventually(() => {
    const received = receiver.at(path)[before];
    if (received === undefined) throw new Error('nothing has arrived');
    return received;
  });
}

/** The places of those secrets with which the public library verifies a request. */
function verifying({ body, headers }: Received, ...secrets: string[]): number[] {
  return secrets.flatMap((secret, place) => {
    try {
      new Webhook(secret).verify(body, headers as Record<string, string>);
      return [place];
    } catch {
      return [];
    }
  });
}

const hoursUntil = (time: unknown): number => Math.round((Date.parse(String(time)) - Date.now()) / 3_600_000);

describe.each([
  ['a tenant', '/v1/webhooks/subscriptions', ['run.failed'], () => tenant.admin],
  ['the owner', '/internal/v1/owner/webhook-subscriptions', ['provider.down'], () => owner],
] as const)('the secret of a subscription of %s', (_whose, path, types, as) => {
  let received: string;
  let made: AnswerBody;
  const patch = async (body: object) =>
    (await webhooks.call('PATCH', `${path}/${made.id}`, { as: as(), body })).body;
  const event = () =>
    next(received, () => webhooks.call('POST', `${path}/${made.id}/test`, { as: as(), body: {} }));

  beforeEach(async () => {
    received = `/${newId()}`;
    const body = { url: receiver.url(received), event_types: types };
    made = (await webhooks.call('POST', path, { as: as(), body })).body;
  });

  it('signs beside a new one for a day, and ends when it is said', async () => {
    const [old, fresh] = [made.secret, newStandardSecret()];
    const patched = await patch({ secret: fresh });
    expect(hoursUntil(patched.previous_secret_expires_at)).toBe(24);
    expect(JSON.stringify(patched)).not.toContain('whsec_');
    const both = await event();
    expect(String(both.headers['webhook-signature']).split(' ')).toHaveLength(2);
    expect(verifying(both, old, fresh)).toEqual([0, 1]);
    // A repeat of the request is no other rotation.
    expect(
      (await patch({ secret: fresh, overlap_seconds: 7_200 })).previous_secret_expires_at,
    ).not.toBeNull();
    expect(verifying(await event(), old, fresh)).toEqual([0, 1]);
    expect(hoursUntil((await patch({ overlap_seconds: 86_400 })).previous_secret_expires_at)).toBe(2);
    expect((await patch({ overlap_seconds: 0 })).previous_secret_expires_at).toBeNull();
    expect(verifying(await event(), old, fresh)).toEqual([1]);
  });

  it('is revoked at once without an overlap', async () => {
    const fresh = newStandardSecret();
    expect((await patch({ secret: fresh, overlap_seconds: 0 })).previous_secret_expires_at).toBeNull();
    expect(verifying(await event(), made.secret, fresh)).toEqual([1]);
    expect(
      await webhooks.rows('select previous_secret from webhook.subscriptions where id = $1', [made.id]),
    ).toEqual([{ previous_secret: null }]);
  });

  it.each(['whsec_short', `whsec_${'A'.repeat(33)}`, 'x'.repeat(40)])('can’t be %s', async (secret) => {
    const { status, body } = await webhooks.call('PATCH', `${path}/${made.id}`, {
      as: as(),
      body: { secret },
    });
    expect([status, body.error.param]).toEqual([400, 'secret']);
  });
});

describe('the callback secret of an endpoint', () => {
  it('signs beside a new one until it expires, and is deleted then', async () => {
    const path = `/${newId()}`;
    const endpoint = await webhooks.makeEndpoint(tenant, { mode: 'async', callback_url: receiver.url(path) });
    const [old, fresh] = [endpoint.callback_secret, newStandardSecret()];
    const result = () => next(path, () => webhooks.deliver(endpoint, { body: { input: 'x' } }));
    const { body } = await webhooks.call('PATCH', `/v1/webhooks/endpoints/${endpoint.id}`, {
      ...{ as: tenant.admin, body: { callback_secret: fresh, name: 'Renamed' } },
    });
    expect(body).toMatchObject({ name: 'Renamed', previous_secret_expires_at: null });
    expect(hoursUntil(body.previous_callback_secret_expires_at)).toBe(24);
    expect(verifying(await result(), old, fresh)).toEqual([0, 1]);
    expect(await stored()).toEqual({ callback: true, secret: false });
    await forgetSecrets({ app, system });
    expect(await stored()).toEqual({ callback: true, secret: false });

    await webhooks.call('POST', `/v1/webhooks/endpoints/${endpoint.id}/rotate-secret`, {
      ...{ as: tenant.admin, body: { overlap_seconds: 600 } },
    });
    await webhooks.rows(
      'update webhook.endpoints set previous_callback_secret_expires_at = now() where id = $1',
      [endpoint.id],
    );
    const signed = await webhooks.call('GET', `/v1/webhooks/endpoints/${endpoint.id}`, { as: tenant.admin });
    expect(signed.body.previous_callback_secret_expires_at).toBeNull();
    expect(verifying(await result(), old, fresh)).toEqual([1]);
    await forgetSecrets({ app, system });
    expect(await stored()).toEqual({ callback: false, secret: true });

    async function stored() {
      const [row] = await webhooks.rows<{ callback: boolean; secret: boolean }>(
        `select previous_callback_secret is not null as callback, previous_secret is not null as secret
         from webhook.endpoints where id = $1`,
        [endpoint.id],
      );
      return row;
    }
  });
});

describe('the secret of a generic channel', () => {
  let path: string;
  let channel: TestChannel;
  const patch = async (body: object) =>
    (await webhooks.call('PATCH', `/v1/channels/instances/${channel.id}`, { as: tenant.admin, body })).body;
  const writeWith = async (secret: string) =>
    (await write(webhooks, { ...channel, secret }, written('Hello'))).status;
  const reply = (secret: string) => next(path, () => writeWith(secret));

  beforeEach(async () => {
    path = `/${newId()}`;
    channel = await makeChannel(webhooks, tenant, {
      ...{ type: 'generic', config: { callback_url: receiver.url(path) } },
    });
  });

  it('proves nothing after a change, while both sign replies for a day', async () => {
    const [old, fresh] = [channel.secret, newStandardSecret()];
    const patched = await patch({ credentials: { secret: fresh } });
    expect(patched.previous_secret_expires_at).toBeNull();
    expect(await writeWith(old)).toBe(401);
    expect(verifying(await reply(fresh), old, fresh)).toEqual([0, 1]);
    await patch({ overlap_seconds: 0 });
    expect(verifying(await reply(fresh), old, fresh)).toEqual([1]);
  });

  it('proves messages beside the new one during an overlap, which can be ended', async () => {
    const [old, fresh] = [channel.secret, newStandardSecret()];
    const patched = await patch({ credentials: { secret: fresh }, overlap_seconds: 7_200 });
    expect(hoursUntil(patched.previous_secret_expires_at)).toBe(2);
    expect(verifying(await reply(old), old, fresh)).toEqual([0, 1]);
    expect(await writeWith(fresh)).toBe(202);
    expect(await writeWith(newStandardSecret())).toBe(401);
    // Other changes leave the overlap.
    expect((await patch({ name: 'Renamed' })).previous_secret_expires_at).toBe(
      patched.previous_secret_expires_at,
    );
    expect((await patch({ overlap_seconds: 0 })).previous_secret_expires_at).toBeNull();
    expect(await writeWith(old)).toBe(401);
    expect(verifying(await reply(fresh), old, fresh)).toEqual([1]);
  });

  it('expires by the clock of the database, and is deleted then', async () => {
    const [old, fresh] = [channel.secret, newStandardSecret()];
    await patch({ credentials: { secret: fresh }, overlap_seconds: 7_200 });
    await webhooks.rows(
      `update webhook.channel_instances set previous_credentials_accepted_until = now(),
         previous_credentials_expire_at = now() where id = $1`,
      [channel.id],
    );
    expect(await writeWith(old)).toBe(401);
    expect(verifying(await reply(fresh), old, fresh)).toEqual([1]);
    await forgetSecrets({ app, system });
    expect(
      await webhooks.rows(
        `select previous_credentials, previous_credentials_accepted_until from webhook.channel_instances
         where id = $1`,
        [channel.id],
      ),
    ).toEqual([{ previous_credentials: null, previous_credentials_accepted_until: null }]);
  });

  it('is in no audit entry, encrypted or not', async () => {
    await patch({ credentials: { secret: newStandardSecret() } });
    const entries = await eventually(() => {
      const own = webhooks.tenant.entries.filter(({ tenant_id: id }) => id === tenant.id);
      expect(own).toHaveLength(2);
      return own;
    });
    expect(JSON.stringify(entries)).not.toMatch(/credentials|whsec_|"Buffer"/);
  });
});

it('the secret token of a Telegram bot proves messages beside the new one during an overlap', async () => {
  const [old, fresh] = ['old-telegram-secret', 'new-telegram-secret'];
  const channel = await makeChannel(webhooks, tenant, {
    ...{ type: 'telegram', credentials: { bot_token: '12345:bot', secret_token: old } },
  });
  const path = `/v1/channels/instances/${channel.id}`;
  const patch = (body: object) => webhooks.call('PATCH', path, { as: tenant.admin, body });
  let updateId = 0;
  const post = async (token: string) => {
    updateId += 1;
    const headers = { 'x-telegram-bot-api-secret-token': token };
    return (
      await postMessage(webhooks, channel.id, { headers, body: JSON.stringify({ update_id: updateId }) })
    ).status;
  };
  await patch({ credentials: { secret_token: fresh }, overlap_seconds: 600 });
  expect([await post(old), await post(fresh), await post('neither')]).toEqual([200, 200, 401]);
  await patch({ credentials: { secret_token: 'another-telegram-secret' } });
  expect([await post(old), await post(fresh)]).toEqual([401, 401]);
});
