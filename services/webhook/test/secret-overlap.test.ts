import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { Receiver, type Received } from '@gatehouse/test/receiver';
import { Webhook } from 'standardwebhooks';
import { newStandardSecret } from '../src/inbound/secret.ts';
import { forgetSecrets } from '../src/jobs/upkeep.ts';
import { owner, WebhookServiceUnderTest, type AnswerBody, type TestTenant } from './webhook-service.ts';

const patienceMs = 30_000;

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
  }, patienceMs);
}

/** Which of these secrets the public library verifies a request with, by their places. */
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
