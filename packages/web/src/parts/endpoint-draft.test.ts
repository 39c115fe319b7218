import { describe, expect, it } from '@jest/globals';
import type { WebhookEndpoint } from '@gatehouse/contract/webhook-endpoints';
import { changesOf } from '../format/changes.ts';
import { endpointBody, endpointDraft, newEndpoint } from './endpoint-draft.ts';

const id = '0198c2d0-6a1b-7c38-b1d4-3c6e8f1a2b76';
const at = '2026-01-10T09:00:00.000Z';
const endpoint: WebhookEndpoint = {
  ...{ id, name: 'Alerts', agent_id: id, scheme: 'standard', template: 'alertmanager', mode: 'async' },
  ...{ callback_url: 'https://ops.example.com/x', rate_limit_per_minute: 60, allowed_cidrs: [] },
  ...{
    enabled: true,
    deliver_to: null,
    header: null,
    encoding: null,
    prefix: null,
    url: `/v1/webhooks/llm?endpoint=${id}`,
  },
  ...{ previous_secret_expires_at: null, previous_callback_secret_expires_at: null },
  ...{ created_at: at, updated_at: at },
};
const draft = endpointDraft(endpoint);
const changed = (change: Partial<typeof draft>) =>
  changesOf(endpointBody(draft), endpointBody({ ...draft, ...change }));

describe('the fields of an endpoint', () => {
  it.each([
    ['nothing', {}, {}],
    ['a limit away', { rate_limit_per_minute: '' }, { rate_limit_per_minute: null }],
    ['the mode, and the URL with it', { mode: 'sync' as const }, { mode: 'sync', callback_url: null }],
    [
      'the conversation of answers',
      { channel: id, conversation: 'C1' },
      { deliver_to: { channel_instance_id: id, conversation: 'C1' } },
    ],
    ['the template away', { template: '' as const }, { template: null }],
    ['the template', { template: 'own' as const, liquid: '{{ a }}' }, { template: '{{ a }}' }],
    ['networks', { allowed_cidrs: ['192.0.2.0/24', ''] }, { allowed_cidrs: ['192.0.2.0/24'] }],
  ])('change %s', (_, change, body) => {
    expect(changed(change)).toEqual(body);
  });

  it('show a template of the tenant’s own, and the signature of a header', () => {
    const signed = { scheme: 'hmac', header: 'X-Signature', encoding: 'base64', prefix: '' } as const;
    const custom = endpointDraft({ ...endpoint, ...signed, template: '{{ b }}' });
    expect(custom).toMatchObject({ template: 'own', liquid: '{{ b }}', header: 'X-Signature' });
    expect(endpointBody(custom)).toMatchObject({ header: 'X-Signature', encoding: 'base64', prefix: '' });
    expect(endpointBody(newEndpoint)).not.toHaveProperty('header');
  });
});
