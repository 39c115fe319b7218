import { describe, expect, it } from '@jest/globals';
import { auditEntryOf, type Circumstances } from './audit-entry.ts';

const by: Circumstances = {
  actor: { key_id: 'k', role: 'admin', user_id: null },
  ...{ tenantId: 't', clientIp: null, requestId: null },
};

const logged = (after: object): unknown =>
  auditEntryOf({ action: 'webhook_subscription.created', id: 'w', before: null, after }, by).after;

describe('an entry', () => {
  it.each([
    ['https://hooks.slack.com/services/T0/B0/secret', 'https://hooks.slack.com'],
    ['https://example.com:8443/?token=secret', 'https://example.com:8443'],
    ['https://user:secret@example.com', 'https://example.com'],
    ['https://example.com/#secret', 'https://example.com'],
    ['HTTPS://EXAMPLE.com/secret', 'https://example.com'],
    ['postgres://user:secret@db.example.com/secret', 'postgres://db.example.com'],
  ])('has the host of %s alone, and shows a change of the rest', (url, origin) => {
    const short = { origin, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) };
    const after = logged({ url, nested: [{ callback_url: url }] });
    expect(after).toEqual({ url: short, nested: [{ callback_url: short }] });
    expect(JSON.stringify(after)).not.toContain('secret');
    expect(logged({ url: `${url}2` })).not.toEqual(logged({ url }));
  });

  it('has other texts, and hosts without a path, as they are', () => {
    const view = {
      ...{ url: 'https://example.com', base: 'https://example.com/', name: 'see https://example.com/x' },
      ...{ tags: ['a://'], limit: 1, none: null },
    };
    expect(logged(view)).toEqual(view);
  });
});
