import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

/** Refusals of the edge itself are refused requests of their tenant, as those of chat are. */

const question = { model: 'small', messages: [{ role: 'user', content: 'Hi' }] };
const route = '/v1/chat/completions';

describe.each([
  ['in one process', false],
  ['over connections', true],
])('requests that the edge refuses, %s', (_, separate) => {
  let gateway: TestGateway;
  let tenant: TenantAccess;
  beforeAll(async () => {
    gateway = await TestGateway.start({ separate });
    tenant = await gateway.makeTenant();
  });
  afterAll(() => gateway.stop());

  const makeKey = async (fields: object): Promise<{ id: string; key: string }> => {
    const body = { name: 'refused', role: 'user', ...fields };
    const made = await gateway.call('/v1/api-keys', { key: tenant.adminKey, body });
    expect(made.status).toBe(201);
    return made.body as { id: string; key: string };
  };
  const codeOf = async (at: string, call: Parameters<TestGateway['call']>[1]): Promise<string> => {
    const answer = await gateway.call(at, { body: question, ...call });
    const { error } = answer.body as { error: { code: string } };
    return `${answer.status} ${error.code}`;
  };

  /** The status of a request with this framing, whose body goes on until it is answered. */
  const statusOfUpload = async (key: string, framing: string): Promise<string | undefined> => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1').setEncoding('latin1');
    const head = [`POST ${route} HTTP/1.1`, 'host: gateway', `authorization: Bearer ${key}`];
    socket.write([...head, 'content-type: application/json', framing, '', ''].join('\r\n'));
    let answer = '';
    socket.on('data', (text: string) => (answer += text)).on('error', () => undefined);
    const closed = once(socket, 'close');
    const chunk = `${(256 * 1024).toString(16)}\r\n${' '.repeat(256 * 1024)}\r\n`;
    for (let sent = 0; sent < 100 && answer === '' && !socket.destroyed; sent += 1)
      if (framing.startsWith('transfer') && !socket.write(chunk))
        await Promise.race([once(socket, 'drain'), closed]);
    await eventually(() => expect(answer).not.toBe(''));
    socket.destroy();
    await closed;
    return /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1];
  };

  it('are counted by code and key if their bodies are too large', async () => {
    const { userKey: key, adminKey } = await gateway.makeTenant();
    expect(await statusOfUpload(key, 'content-length: 30000000')).toBe('413');
    expect(await statusOfUpload(key, 'transfer-encoding: chunked')).toBe('413');
    await eventually(async () => {
      const usage = await gateway.call('/v1/usage/summary?group_by=error_code', { key: adminKey });
      expect(usage.body).toMatchObject({
        groups: [{ key: { error_code: 'payload_too_large' }, refused: 2 }],
      });
    });
  });

  it('are counted by code and key and listed, if the key is of a tenant', async () => {
    const [narrow, revoked, open, ann] = [
      await makeKey({ scopes: ['agents.read'] }),
      await makeKey({}),
      await makeKey({}),
      await makeKey({ user_id: 'ann' }),
    ];
    const revocation = await gateway.call(`/v1/api-keys/${revoked.id}/revoke`, {
      key: tenant.adminKey,
      body: {},
    });
    expect(revocation.status).toBe(200);
    expect(await codeOf(route, { key: narrow.key })).toBe('403 scope_missing');
    expect(await codeOf('/v1/embeddings', { key: narrow.key })).toBe('403 scope_missing');
    await eventually(async () =>
      expect(await codeOf(route, { key: revoked.key })).toBe('401 invalid_api_key'),
    );
    const asBob = { key: ann.key, headers: { 'x-service-user-id': 'bob' } };
    expect(await codeOf(route, asBob)).toBe('403 user_mismatch');
    const text = { 'content-type': 'text/plain' };
    expect(await codeOf(route, { key: ann.key, headers: text })).toBe('415 unsupported_media_type');
    expect(await codeOf(route, { key: ann.key, body: '{"model":' })).toBe('400 invalid_json');
    const long = { 'x-service-user-id': 'x'.repeat(300) };
    expect(await codeOf(route, { key: open.key, headers: long })).toBe('400 invalid_value');
    // Nothing of these is counted: no route of runs, and no key of a tenant.
    expect(await codeOf('/v1/agents', { key: (await makeKey({ scopes: ['chat'] })).key, body: {} })).toBe(
      '403 scope_missing',
    );
    expect(await codeOf(route, { key: `${revoked.key.slice(0, -1)}_` })).toBe('401 invalid_api_key');
    expect(await codeOf(route, { key: gateway.ownerKey })).toMatch(/^403 /);

    await eventually(async () => {
      const usage = await gateway.call('/v1/usage/summary?group_by=error_code,api_key,user', {
        key: tenant.adminKey,
      });
      const groups = (usage.body as { groups: { key: Record<string, string>; refused: number }[] }).groups;
      const counts = groups.map(({ key, refused }) => [
        key['error_code'],
        key['api_key'],
        key['user'],
        refused,
      ]);
      expect(counts.toSorted()).toEqual(
        [
          ['invalid_api_key', revoked.id, null, expect.any(Number)],
          ['invalid_json', ann.id, 'ann', 1],
          ['invalid_value', open.id, null, 1],
          ['scope_missing', narrow.id, null, 2],
          ['unsupported_media_type', ann.id, 'ann', 1],
          ['user_mismatch', ann.id, null, 1],
        ].toSorted(),
      );
    });
    const list = await gateway.call('/v1/traces?status=refused', { key: tenant.adminKey });
    expect((list.body as { data: object[] }).data).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          api_key_id: narrow.id,
          status: 'refused',
          dialect: 'chat',
          error: { type: 'scope_missing', message: expect.stringContaining('chat') },
        }),
      ]),
    );
  });
});
