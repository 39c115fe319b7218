import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import type { Service } from '@gatehouse/shell/service';
import type { Answer, As } from '@gatehouse/test/service-under-test';
import { TenantServiceUnderTest, type TestTenant, type AnswerBody } from './tenant-service.ts';

let tenants: TenantServiceUnderTest;
let replica: Service;
let tenant: TestTenant;
const owner: As = { role: 'owner', keyId: newId() };

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
  replica = await tenants.startReplica();
  tenant = await tenants.makeTenant();
});
afterAll(async () => {
  await replica.stop();
  await tenants.stop();
});

interface Creation {
  path: string;
  as: As;
  body: Record<string, unknown>;
  /** The secret in the answer. */
  secret: (answer: Answer<AnswerBody>) => string;
  /** How often it took effect. */
  effects: () => Promise<number>;
}

async function count(sql: string, ...values: unknown[]): Promise<number> {
  const [row] = await tenants.rows<{ n: number }>(`select count(*)::int as n from ${sql}`, values);
  return row?.n ?? -1;
}

/** Creates one resource of each kind under a unique name. */
const creations: Record<string, (name: string) => Promise<Creation>> = {
  'an API key': async (name) => ({
    path: '/v1/api-keys',
    as: tenant.admin,
    body: { name, role: 'user' },
    secret: ({ body }) => body.key,
    effects: () => count('tenant.api_keys where name = $1', name),
  }),
  'a new secret of an API key': async (name) => {
    const { id, key } = await tenants.makeKey(tenant.admin, { name });
    return {
      path: `/v1/api-keys/${id}/rotate`,
      as: tenant.admin,
      body: { overlap_seconds: 600 },
      secret: ({ body }) => body.key,
      // A second rotation would have ended the first secret.
      effects: async () => ((await tenants.authenticate(key)).result?.$case === 'key' ? 1 : 2),
    };
  },
  'an owner key': async (name) => ({
    path: '/internal/v1/owner/api-keys',
    as: owner,
    body: { name, role: 'owner' },
    secret: ({ body }) => body.key,
    effects: () => count('tenant.api_keys where name = $1', name),
  }),
  'a tenant': async (name) => ({
    path: '/internal/v1/owner/tenants',
    as: owner,
    body: { name, slug: name },
    secret: ({ body }) => body.admin_key,
    effects: () =>
      count('tenant.tenants t join tenant.api_keys k on k.tenant_id = t.id where t.slug = $1', name),
  }),
};

const send = ({ path, as, body }: Creation, key: string, port = tenants.service.httpPort) =>
  tenants.call('POST', path, { as, body, port, headers: { 'idempotency-key': key } });

const replayed = ({ headers }: Answer<AnswerBody>) => headers.get('idempotency-replayed');

describe.each(Object.entries(creations))('%s', (_what, make) => {
  it('is made once by twenty requests at once on two replicas', async () => {
    const name = `once-${newId()}`;
    const creation = await make(name);
    const ports = [tenants.service.httpPort, replica.httpPort];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => send(creation, name, ports[n % 2])),
    );
    const [first, ...others] = answers.filter((answer) => answer.status < 300 && replayed(answer) === null);
    expect(others).toEqual([]);
    if (first === undefined) throw new Error('none took effect');
    expect(creation.secret(first)).toMatch(/^gwk_/);
    for (const answer of answers) {
      if (replayed(answer) === 'true') expect(answer.body).toEqual(first.body);
      else if (answer !== first) expect(answer.body.error.code).toBe('idempotency_in_progress');
    }
    expect(await creation.effects()).toBe(1);
    const repeat = await send(creation, name, replica.httpPort);
    expect({ ...repeat, headers: null }).toEqual({ ...first, headers: null });
    expect(repeat.headers.get('location')).toBe(first.headers.get('location'));
    expect((await tenants.authenticate(creation.secret(repeat))).result?.$case).toBe('key');
  });

  it('is made once, however the ids in its path are spelled', async () => {
    const name = `spelled-${newId()}`;
    const creation = await make(name);
    const first = await send(creation, name);
    const path = creation.path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, (id) => id.toUpperCase());
    const repeat = await send({ ...creation, path }, name);
    expect([repeat.status, repeat.body, replayed(repeat)]).toEqual([first.status, first.body, 'true']);
    expect(await creation.effects()).toBe(1);
  });

  it('has its secret in no table, and gives it to no other key', async () => {
    const name = `secret-${newId()}`;
    const creation = await make(name);
    const secret = creation.secret(await send(creation, name)).slice(-43);
    const [row] = await tenants.rows<{ text: string; response: Buffer }>(
      'select r::text as text, response from tenant.idempotency_records r where key = $1',
      [name],
    );
    expect(row?.response.length).toBeGreaterThan(100);
    expect(row?.text).not.toContain(secret);
    expect(row?.response.toString('latin1')).not.toContain(secret);
    const other = await send({ ...creation, as: { ...creation.as, keyId: newId() } }, name);
    expect(other).toMatchObject({ status: 409, body: { error: { code: 'idempotency_key_reused' } } });
  });
});

describe('a refusal', () => {
  it('is repeated as it was, also after its reason is gone', async () => {
    const slug = `taken-${newId()}`;
    const creation = await creations['a tenant']?.(slug);
    if (creation === undefined) throw new Error('no such creation');
    const { id } = await tenants.makeTenant({ slug });
    const refused = await send(creation, slug);
    expect(refused).toMatchObject({
      status: 409,
      body: { error: { code: 'tenant_slug_taken', param: 'slug' } },
    });
    await tenants.call('PATCH', `/internal/v1/owner/tenants/${id}`, { body: { slug: `${slug}-2` } });
    const repeat = await send(creation, slug);
    expect(repeat.body).toEqual(refused.body);
    expect(replayed(repeat)).toBe('true');
    expect(await send(creation, `${slug} again`)).toMatchObject({ status: 201 });
  });
});

describe('revoking', () => {
  it('may be repeated anyway, and ignores the header', async () => {
    const { id } = await tenants.makeKey(tenant.admin);
    const revoke = () =>
      tenants.call('POST', `/v1/api-keys/${id}/revoke`, {
        as: tenant.admin,
        headers: { 'idempotency-key': '' },
      });
    const first = await revoke();
    expect(first).toMatchObject({ status: 200, body: { status: 'revoked' } });
    expect((await revoke()).body).toEqual(first.body);
    expect(await count(`tenant.idempotency_records where key = ''`)).toBe(0);
  });
});

describe('a replica that is killed', () => {
  it('leaves a key that is taken for a minute and then free, and no effect', async () => {
    const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
    const child = spawn(process.execPath, [main], {
      env: { ...tenants.environment(), LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const port = await new Promise<number>((resolve) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        const entry = JSON.parse(line) as { msg?: string; http_port?: number };
        if (entry.msg === 'listening') resolve(entry.http_port ?? 0);
      });
    });
    const name = `killed-${newId()}`;
    const creation = await creations['an API key']?.(name);
    if (creation === undefined) throw new Error('no such creation');
    const blocker = new Client({ connectionString: tenants.database.adminUrl });
    await blocker.connect();
    try {
      // Between the claim and the effect.
      await blocker.query('begin; lock table tenant.api_keys in share mode');
      const lost = send(creation, name, port).catch(() => 'lost');
      await eventually(async () =>
        expect(await count('tenant.idempotency_records where key = $1', name)).toBe(1),
      );
      child.kill('SIGKILL');
      await once(child, 'exit');
      expect(await lost).toBe('lost');
    } finally {
      await blocker.end();
    }
    const early = await send(creation, name);
    expect(early).toMatchObject({ status: 409, body: { error: { code: 'idempotency_in_progress' } } });
    const [claim] = await tenants.rows<{ seconds: string }>(
      'select extract(epoch from expires_at - now()) as seconds from tenant.idempotency_records where key = $1',
      [name],
    );
    expect(Number(claim?.seconds)).toBeGreaterThan(0);
    expect(Number(claim?.seconds)).toBeLessThanOrEqual(60);
    await tenants.rows('update tenant.idempotency_records set expires_at = now() where key = $1', [name]);
    expect(await send(creation, name)).toMatchObject({ status: 201 });
    expect(await creation.effects()).toBe(1);
  });
});
