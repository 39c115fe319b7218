import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { tablesWithoutPolicies } from '@gatehouse/test/rls-audit';
import { describeStarting } from '@gatehouse/test/starting';
import { WebhookServiceUnderTest } from './webhook-service.ts';

let webhooks: WebhookServiceUnderTest;
beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start();
});
afterAll(() => webhooks.stop());

describeStarting('webhook', () => webhooks);

it('guards every table by row-level security', async () => {
  expect(await tablesWithoutPolicies(webhooks.database.adminUrl, 'webhook')).toEqual([]);
});

it('names every wrong setting at once', async () => {
  const environment = { ...webhooks.environment(), WEBHOOK_ALLOW_TOKEN: 'yes', EGRESS_ALLOW: '10.0.0.0/33' };
  await expect(async () => webhooks.create(environment)).rejects.toThrow(
    /EGRESS_ALLOW[^]*WEBHOOK_ALLOW_TOKEN|WEBHOOK_ALLOW_TOKEN[^]*EGRESS_ALLOW/,
  );
});
