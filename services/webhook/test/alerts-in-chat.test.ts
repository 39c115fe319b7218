import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startSlack, startTelegram, type ProviderServer } from '@gatehouse/test/channel-providers';
import { eventually } from '@gatehouse/test/eventually';
import { yamlOf } from '@gatehouse/test/examples';
import { makeChannel } from './channels-under-test.ts';
import { WebhookServiceUnderTest, type TestTenant } from './webhook-service.ts';

/** The settings in docs/tenants/alerts-in-chat.md, used as their programs use them. */

const [manifest, alertmanager, grafana] = yamlOf('docs/tenants/alerts-in-chat.md') as [
  SlackManifest,
  AlertmanagerConfig,
  GrafanaProvisioning,
];

interface SlackManifest {
  oauth_config: { scopes: { bot: string[] } };
}

interface AlertmanagerConfig {
  route: { receiver: string };
  receivers: {
    name: string;
    webhook_configs: { url: string; http_config: { authorization: { credentials_file: string } } }[];
  }[];
}

interface GrafanaProvisioning {
  apiVersion: number;
  contactPoints: {
    name: string;
    receivers: {
      uid: string;
      type: string;
      settings: {
        url: string;
        httpMethod: string;
        hmacConfig: { secret: string; header: string; timestampHeader: string };
      };
    }[];
  }[];
}

const payloadOf = (name: string): string =>
  readFileSync(path.join(import.meta.dirname, 'payloads', `${name}.json`), 'utf8');

let webhooks: WebhookServiceUnderTest;
let telegram: ProviderServer;
let slack: ProviderServer;
let tenant: TestTenant;

beforeAll(async () => {
  telegram = await startTelegram(new Set(['12345:bot']));
  slack = await startSlack(new Set(['xoxb-token']));
  webhooks = await WebhookServiceUnderTest.start({
    ...{ TELEGRAM_API_URL: telegram.url, SLACK_API_URL: `${slack.url}/api/` },
    ...{ WEBHOOK_ALLOW_TOKEN: '1', PUBLIC_URL: 'https://gateway.example.com' },
  });
  tenant = webhooks.makeTenant();
});
afterAll(async () => {
  await webhooks.stop();
  await telegram.stop();
  await slack.stop();
});

/** The URL of a page for an endpoint, as the gateway serves it. */
function pathOf(url: string, endpoint: { id: string; url: string }): string {
  const shown = url.replace('00000000-0000-0000-0000-000000000000', endpoint.id);
  expect(shown).toBe(endpoint.url);
  return shown.replace('https://gateway.example.com', '');
}

const untilDelivered = (callId: string) =>
  eventually(async () => {
    const call = `/v1/webhooks/calls/${callId}`;
    const { body } = await webhooks.call('GET', call, { as: tenant.admin });
    expect(body.channel_delivery?.status).toBe('delivered');
  });

it('an alert of Alertmanager is answered in Slack, in a channel that the app may write to', async () => {
  expect(manifest.oauth_config.scopes.bot).toEqual(
    expect.arrayContaining(['chat:write', 'chat:write.public']),
  );
  const channel = await makeChannel(webhooks, tenant, {
    ...{ type: 'slack', credentials: { bot_token: 'xoxb-token', signing_secret: 'signing-secret' } },
  });
  const endpoint = await webhooks.makeEndpoint(tenant, {
    ...{ scheme: 'token', template: 'alertmanager', mode: 'async' },
    deliver_to: { channel_instance_id: channel.id, conversation: 'C024BE91L' },
  });
  const receiver = alertmanager.receivers.find(({ name }) => name === alertmanager.route.receiver);
  const [config] = receiver?.webhook_configs ?? [];
  if (config === undefined) throw new Error('the page has no receiver');
  // Alertmanager's default type of credentials.
  expect(Object.keys(config.http_config.authorization)).toEqual(['credentials_file']);
  const sent = await webhooks.sendAnonymously('webhooks.llm', pathOf(config.url, endpoint), {
    headers: { 'user-agent': 'Alertmanager/0.28.1', authorization: `Bearer ${endpoint.secret}` },
    body: payloadOf('alertmanager'),
  });
  expect(sent.status).toBe(202);
  await untilDelivered(sent.body.call_id);
  const [message, ...others] = slack.bodies('chat.postMessage');
  expect(others).toEqual([]);
  expect(message).toMatchObject({ channel: 'C024BE91L' });
  expect(String(message?.['text'])).toContain('Disk of db-1 is 97 % full');
});

it('an alert of Grafana is answered in Telegram', async () => {
  const channel = await makeChannel(webhooks, tenant, {
    ...{ type: 'telegram', credentials: { bot_token: '12345:bot', secret_token: 'telegram-secret-token' } },
  });
  const endpoint = await webhooks.makeEndpoint(tenant, {
    ...{ scheme: 'grafana', template: 'grafana', mode: 'async' },
    deliver_to: { channel_instance_id: channel.id, conversation: '-1001234567890' },
  });
  const [contactPoint] = grafana.contactPoints;
  const [receiver] = contactPoint?.receivers ?? [];
  if (receiver === undefined) throw new Error('the page has no contact point');
  expect(receiver.type).toBe('webhook');
  const { url, httpMethod, hmacConfig } = receiver.settings;
  expect(httpMethod).toBe('POST');
  // Grafana expands variables of its environment, and signs the time, a colon and the body.
  const secret = hmacConfig.secret.replace('$GATEHOUSE_SECRET', endpoint.secret);
  const time = String(Math.floor(Date.now() / 1_000));
  const body = payloadOf('grafana');
  const sent = await webhooks.sendAnonymously('webhooks.llm', pathOf(url, endpoint), {
    headers: {
      'user-agent': 'Grafana',
      [hmacConfig.timestampHeader]: time,
      [hmacConfig.header]: createHmac('sha256', secret).update(`${time}:${body}`).digest('hex'),
    },
    body,
  });
  expect(sent.status).toBe(202);
  await untilDelivered(sent.body.call_id);
  const [message, ...others] = telegram.bodies('sendMessage');
  expect(others).toEqual([]);
  expect(message).toMatchObject({ chat_id: '-1001234567890', parse_mode: 'HTML' });
  expect(String(message?.['text'])).toContain('High memory usage');
});
