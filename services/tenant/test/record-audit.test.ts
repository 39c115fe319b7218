import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { topics } from '@gatehouse/contract/services';
import type { AuditEntry } from '@gatehouse/contract/audit';
import { writeAuditEvent } from '@gatehouse/events/audit-event';
import { writeEvent } from '@gatehouse/events/cloud-event';
import { newId } from '@gatehouse/kit/ids';
import { TenantServiceUnderTest } from './tenant-service.ts';

let tenants: TenantServiceUnderTest;
const source = 'gatehouse/agent';

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
});
afterAll(() => tenants.stop());

function makeEntry(fields: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: newId(),
    at: '2026-11-21T12:00:00.123Z',
    action: 'agent.deleted',
    actor: { key_id: newId(), role: 'admin', user_id: null },
    tenant_id: newId(),
    resource: { type: 'agent', id: newId() },
    client_ip: '203.0.113.9',
    request_id: 'request-1',
    before: { name: 'Gone', metadata: { nul: '\u0000', half: '\ud800' } },
    after: null,
    ...fields,
  };
}

async function record(events: string[], caller = 'agent'): Promise<void> {
  await tenants.send(caller, { topic: topics.audit, source, events, fresh: false });
}

async function logOf({ tenant_id: id }: AuditEntry): Promise<unknown> {
  const { body } = await tenants.call('GET', `/internal/v1/owner/audit-log?tenant_id=${id ?? ''}`);
  return body.data;
}

describe('events of changes', () => {
  it('writes a change to the log as it was sent, once', async () => {
    const entry = makeEntry();
    const event = writeAuditEvent(source, entry);
    await record([event]);
    await record([event, event]);
    await Promise.all([record([event]), record([event])]);
    expect(await logOf(entry)).toEqual([entry]);
  });

  it('passes over other types and what a later release adds', async () => {
    const entry = makeEntry();
    const { data, ...rest } = JSON.parse(writeAuditEvent(source, entry)) as { data: object };
    const other = writeEvent({
      id: newId(),
      source,
      type: 'gatehouse.watermark',
      time: entry.at,
      subject: 'x',
      partitionkey: 'x',
      data: {},
    });
    await record([other, JSON.stringify({ ...rest, data: { ...data, reason: 'new' } })]);
    expect(await logOf(entry)).toEqual([entry]);
  });

  it('keeps events that are unreadable as dead letters, and writes the rest', async () => {
    const entry = makeEntry();
    const wrong = writeAuditEvent(source, { ...makeEntry(), resource: { type: 'agent', id: 'x' } });
    const refused = writeAuditEvent(source, makeEntry({ request_id: 'nul \u0000' }));
    const events = ['{', wrong, refused, writeAuditEvent(source, entry)];
    await record(events);
    await record(events);
    expect(await logOf(entry)).toEqual([entry]);
    const letters = await tenants.rows<{ origin: string; reason: string; text: string }>(
      `select origin, reason, convert_from(payload, 'UTF8') as text from tenant.dead_letters`,
    );
    expect(letters.map(({ text }) => text).sort()).toEqual(events.slice(0, 3).sort());
    expect(letters.map(({ reason }) => reason).sort()).toEqual([
      'not JSON',
      expect.stringContaining('not a change: resource.id'),
      expect.stringContaining('rejected by the database'),
    ]);
  });

  it('deletes dead letters after 30 days', async () => {
    await tenants.rows(
      `insert into tenant.dead_letters (id, received_at, origin, reason, payload)
       values (gen_random_uuid(), now() - interval '31 days', 'old', 'old', '')`,
    );
    await record(['no JSON']);
    const letters = await tenants.rows<{ origin: string }>('select origin from tenant.dead_letters');
    expect(letters.map(({ origin }) => origin)).not.toContain('old');
  });

  it.each(['agent', 'chat', 'memory', 'webhook'])('is for %s, which publishes changes', async (caller) => {
    await record([], caller);
  });

  it('is for no service that publishes none', async () => {
    await expect(record([], 'analytics')).rejects.toMatchObject({ code: 'caller_not_allowed' });
  });
});
