import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import { resealSecrets } from '@gatehouse/secrets/resealing';
import { placeOf } from '../src/channels/channel-gate.ts';
import { newStandardSecret } from '../src/signatures/signing-secret.ts';
import { webhookSecretsToReseal } from '../src/secrets/reseal.ts';
import { replaceSealed } from '../src/secrets/secret-store.ts';
import { countSealedSecrets, findStaleSecrets } from '../src/secrets/secret-system-store.ts';
import { WebhookSecrets } from '../src/secrets/webhook-secrets.ts';
import { WebhookServiceUnderTest } from './webhook-service.ts';

let webhooks: WebhookServiceUnderTest;
beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start();
});
afterAll(() => webhooks.stop());

it('secrets move to a new key, and then need the old one no more', async () => {
  const tenant = webhooks.makeTenant();
  const endpoint = await webhooks.makeEndpoint(tenant);
  const as = tenant.admin;
  const rotated = await webhooks.call('POST', `/v1/webhooks/endpoints/${endpoint.id}/rotate-secret`, {
    ...{ as, body: { overlap_seconds: 600 } },
  });
  const body = { url: 'https://93.184.215.14/', event_types: ['run.failed'] };
  const subscription = await webhooks.call('POST', '/v1/webhooks/subscriptions', { as, body });

  const channel = await webhooks.call('POST', '/v1/channels/instances', {
    as,
    body: { name: 'Support', agent_id: tenant.agentId, type: 'generic', config: { callback_url: body.url } },
  });

  // Each replaces its secret, and keeps the old one for a time.
  const next = {
    endpoint: newStandardSecret(),
    subscription: newStandardSecret(),
    channel: newStandardSecret(),
  };
  const patch = (path: string, fields: object) => webhooks.call('PATCH', path, { as, body: fields });
  await patch(`/v1/webhooks/endpoints/${endpoint.id}`, { callback_secret: next.endpoint });
  await patch(`/v1/webhooks/subscriptions/${subscription.body.id}`, { secret: next.subscription });
  await patch(`/v1/channels/instances/${channel.body.id}`, { credentials: { secret: next.channel } });

  const log = createLogger('test', 'silent');
  const { url } = webhooks.database;
  const app = createPool({ url, role: 'webhook_app', max: 1, log });
  const system = createPool({ url, role: 'webhook_system', max: 1, log });
  const resealWith = (secrets: WebhookSecrets) =>
    resealSecrets(
      webhookSecretsToReseal(secrets, {
        find: (prefix, limit) => findStaleSecrets(system, prefix, limit),
        replace: (found, again) => replaceSealed(app, found, again),
        log,
      }),
    );
  const added = newKeyRing('added');
  const ring = KeyRing.parse(`${added},${webhooks.identity.keyRing}`);
  const [{ prefix } = { prefix: Buffer.of() }] = ring.stalePrefixes;
  const old = async () =>
    (await countSealedSecrets(system, prefix)).reduce((sum, { count }) => sum + count, 0);
  const both = new WebhookSecrets(ring);
  expect(await old()).toBe(8);
  expect(await resealWith(both)).toBe(8);
  expect(await old()).toBe(0);
  expect(await resealWith(both)).toBe(0);

  const fresh = new WebhookSecrets(KeyRing.parse(added));
  const [row] = await webhooks.rows<
    Record<'secret' | 'previous_secret' | 'callback_secret' | 'previous_callback_secret', Buffer>
  >(
    `select secret, previous_secret, callback_secret, previous_callback_secret
     from webhook.endpoints where id = $1`,
    [endpoint.id],
  );
  const place = { tenantId: tenant.id, table: 'endpoints', id: endpoint.id } as const;
  const opened = (column: 'secret' | 'callback_secret', sealed: Buffer = Buffer.alloc(0)) =>
    fresh.open({ ...place, column }, sealed);
  expect(opened('secret', row?.secret)).toBe(rotated.body.secret);
  expect(opened('secret', row?.previous_secret)).toBe(endpoint.secret);
  expect(opened('callback_secret', row?.callback_secret)).toBe(next.endpoint);
  expect(opened('callback_secret', row?.previous_callback_secret)).toBe(endpoint.callback_secret);
  const [other] = await webhooks.rows<Record<'secret' | 'previous_secret', Buffer>>(
    'select secret, previous_secret from webhook.subscriptions where id = $1',
    [subscription.body.id],
  );
  const ofSubscription = { tenantId: tenant.id, table: 'subscriptions', id: subscription.body.id } as const;
  const openedOther = (sealed: Buffer = Buffer.alloc(0)) =>
    fresh.open({ ...ofSubscription, column: 'secret' }, sealed);
  expect(openedOther(other?.secret)).toBe(next.subscription);
  expect(openedOther(other?.previous_secret)).toBe(subscription.body.secret);

  const [third] = await webhooks.rows<Record<'credentials' | 'previous_credentials', Buffer>>(
    'select credentials, previous_credentials from webhook.channel_instances where id = $1',
    [channel.body.id],
  );
  const openedThird = (sealed: Buffer = Buffer.alloc(0)) =>
    fresh.open(placeOf({ tenantId: tenant.id, id: channel.body.id }), sealed);
  expect(openedThird(third?.credentials)).toBe(JSON.stringify({ secret: next.channel }));
  expect(openedThird(third?.previous_credentials)).toBe(JSON.stringify({ secret: channel.body.secret }));

  // Without the old key, what it has encrypted stays as it is, and is logged.
  await webhooks.makeEndpoint(tenant);
  expect(await resealWith(fresh)).toBe(0);
  await Promise.all([app.end(), system.end()]);
});
