import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { TenantServiceUnderTest } from './tenant-service.ts';

let tenants: TenantServiceUnderTest;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
});
afterAll(() => tenants.stop());

const path = '/internal/v1/owner/tenants';
const patch = (id: string, body: unknown) => tenants.call('PATCH', `${path}/${id}`, { body });

describe('creating a tenant', () => {
  it('answers with the tenant and the text of an admin key that works', async () => {
    const keyId = newId();
    const answer = await tenants.call('POST', path, {
      as: { role: 'owner', keyId },
      body: { slug: 'acme', name: 'Acme GmbH' },
    });
    expect(answer.status).toBe(201);
    const { id, admin_key: adminKey, ...tenant } = answer.body;
    expect(answer.headers.get('location')).toBe(`${path}/${id}`);
    expect(tenant).toEqual({
      slug: 'acme',
      name: 'Acme GmbH',
      status: 'active',
      limits: { max_concurrent: 1_000 },
      budget: null,
      allowed_models: null,
      timezone: 'UTC',
      retention_days: 90,
      previews: { enabled: true, max_chars: 500 },
      content: 'previews',
      user_keys: { enabled: true, max: 5, max_days: 90 },
      acting_users: 'any',
      scim_user_id: 'externalId',
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(await tenants.authenticate(adminKey)).toMatchObject({
      result: { $case: 'key', value: { tenantId: id, tenantSlug: 'acme', role: 'admin' } },
    });
    const [key] = await tenants.rows('select created_by from tenant.api_keys where tenant_id = $1', [id]);
    expect(key).toEqual({ created_by: keyId });
  });

  it('has no limit of requests at once where that is null', async () => {
    const limitsOf = async (slug: string, limits: object): Promise<unknown> => {
      const { body } = await tenants.call('POST', path, { body: { slug, name: 'x', limits } });
      return body.limits;
    };
    expect(await limitsOf('free', { max_concurrent: null })).toEqual({});
    expect(await limitsOf('paced', { requests_per_minute: 5 })).toEqual({
      requests_per_minute: 5,
      max_concurrent: 1_000,
    });
  });

  it('never shows the admin key again', async () => {
    const tenant = await tenants.makeTenant();
    const secret = tenant.adminKey.slice(-43);
    for (const where of [`${path}/${tenant.id}`, path, '/internal/v1/owner/api-keys']) {
      expect(JSON.stringify((await tenants.call('GET', where)).body)).not.toContain(secret);
    }
  });

  it('keeps every setting, lifting limits that are null', async () => {
    const settings = {
      budget: { usd: '100.000000000001', period: 'day' },
      allowed_models: ['gpt-4o', 'org/model'],
      timezone: 'Asia/Ho_Chi_Minh',
      retention_days: 30,
      previews: { enabled: false, max_chars: 10 },
      user_keys: { enabled: false, max: 0, max_days: 1 },
    };
    const limits = { requests_per_minute: 60, tokens_per_minute: null, max_concurrent: 5 };
    const { id } = await tenants.makeTenant({ ...settings, limits });
    const answer = await tenants.call('GET', `${path}/${id}`);
    expect(answer.body).toMatchObject({ ...settings, content: 'off' });
    expect(answer.body.limits).toEqual({ requests_per_minute: 60, max_concurrent: 5 });
  });

  it('takes previews and content, as far as they agree', async () => {
    const made = async (content: string): Promise<unknown> => {
      const { id } = await tenants.makeTenant({ content, previews: { max_chars: 10 } });
      return (await tenants.call('GET', `${path}/${id}`)).body;
    };
    const previews = { enabled: true, max_chars: 10 };
    expect(await made('full')).toMatchObject({ content: 'full', previews });
    expect(await made('off')).toMatchObject({ content: 'off', previews: { ...previews, enabled: false } });
    const body = { slug: 'contrary', name: 'x', content: 'off', previews: { enabled: true } };
    const refused = await tenants.call('POST', path, { body });
    expect(refused.body.error).toMatchObject({ code: 'invalid_value', param: 'content' });
  });

  it('refuses a taken slug and then leaves nothing behind', async () => {
    const { slug } = await tenants.makeTenant();
    const count = 'select count(*)::int as keys from tenant.api_keys';
    const before = await tenants.rows(count);
    const answer = await tenants.call('POST', path, { body: { slug, name: 'Again' } });
    expect(answer.status).toBe(409);
    expect(answer.body.error).toMatchObject({ code: 'tenant_slug_taken', param: 'slug' });
    expect(await tenants.rows(count)).toEqual(before);
  });

  it('gives a slug to one of two that ask at once', async () => {
    const body = { slug: 'wanted-by-both', name: 'Both' };
    const answers = await Promise.all([1, 2].map(() => tenants.call('POST', path, { body })));
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409]);
  });

  it.each([
    [{ slug: 'Acme' }, 'invalid_value', 'slug'],
    [{ slug: '-acme' }, 'invalid_value', 'slug'],
    [{ name: '' }, 'invalid_value', 'name'],
    [{ timezone: 'Mars/Olympus' }, 'invalid_value', 'timezone'],
    [{ retention_days: 0 }, 'invalid_value', 'retention_days'],
    [{ retention_days: '30' }, 'invalid_type', 'retention_days'],
    [{ limits: { requests_per_minute: 0 } }, 'invalid_value', 'limits.requests_per_minute'],
    [{ limits: { memory: { documents: -1 } } }, 'invalid_value', 'limits.memory.documents'],
    [{ limits: { memory: { bytes: 1.5 } } }, 'invalid_type', 'limits.memory.bytes'],
    [{ limits: { memory: { entities: '1' } } }, 'invalid_type', 'limits.memory.entities'],
    [{ limits: { memory: { chunks: 1 } } }, 'unknown_parameter', 'limits.memory.chunks'],
    [{ budget: { usd: '-1', period: 'day' } }, 'invalid_value', 'budget.usd'],
    [{ budget: { usd: '1' } }, 'missing_required_parameter', 'budget.period'],
    [{ allowed_models: [1] }, 'invalid_type', 'allowed_models[0]'],
    [{ status: 'suspended' }, 'unknown_parameter', 'status'],
    [{ admin_key: 'mine' }, 'unknown_parameter', 'admin_key'],
  ])('answers %j with a 400 %s naming %s', async (fields, code, param) => {
    const answer = await tenants.call('POST', path, { body: { slug: 'fine', name: 'Fine', ...fields } });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code, param });
  });
});

describe('changing a tenant', () => {
  it('is a JSON merge patch: absent members stay, null lifts', async () => {
    const { id, slug } = await tenants.makeTenant({
      limits: { requests_per_minute: 60, max_concurrent: 5 },
      budget: { usd: '5', period: 'day' },
      allowed_models: ['gpt-4o'],
      previews: { enabled: true, max_chars: 100 },
    });
    const first = await patch(id, {
      limits: { requests_per_minute: null, tokens_per_minute: 1_000 },
      previews: { enabled: false },
    });
    expect(first.body).toMatchObject({
      slug,
      budget: { usd: '5', period: 'day' },
      allowed_models: ['gpt-4o'],
      previews: { enabled: false, max_chars: 100 },
    });
    expect(first.body.limits).toEqual({ tokens_per_minute: 1_000, max_concurrent: 5 });
    const second = await patch(id, { budget: null, allowed_models: null, name: 'New name' });
    expect(second.body).toMatchObject({ budget: null, allowed_models: null, name: 'New name' });
    expect(second.body.limits).toEqual(first.body.limits);
    expect((await tenants.call('GET', `${path}/${id}`)).body).toEqual(second.body);
  });

  it('loses none of two changes made at once', async () => {
    const { id } = await tenants.makeTenant();
    await Promise.all([
      patch(id, { limits: { requests_per_minute: 1 } }),
      patch(id, { limits: { max_concurrent: 2 } }),
      patch(id, { limits: { tokens_per_minute: 3 } }),
    ]);
    const { limits } = (await tenants.call('GET', `${path}/${id}`)).body;
    expect(limits).toEqual({ requests_per_minute: 1, max_concurrent: 2, tokens_per_minute: 3 });
  });

  it('changes the status to every other one, and Authenticate returns it at once', async () => {
    const { id, adminKey } = await tenants.makeTenant();
    for (const status of ['suspended', 'archived', 'active', 'archived', 'suspended', 'active']) {
      expect((await patch(id, { status })).body.status).toBe(status);
      expect(await tenants.authenticate(adminKey)).toMatchObject({
        result: { $case: 'key', value: { tenantStatus: status } },
      });
    }
  });

  it('refuses a taken slug, unknown members and wrong values', async () => {
    const [one, two] = [await tenants.makeTenant(), await tenants.makeTenant()];
    const taken = await patch(one.id, { slug: two.slug });
    expect(taken.status).toBe(409);
    expect(taken.body.error.code).toBe('tenant_slug_taken');
    expect((await patch(one.id, { slug: one.slug })).status).toBe(200);
    for (const [body, param] of [
      [{ id: newId() }, 'id'],
      [{ status: 'deleted' }, 'status'],
      [{ name: null }, 'name'],
      [{ limits: null }, 'limits'],
      [{ limits: { requests: 1 } }, 'limits.requests'],
    ] as const) {
      const answer = await patch(one.id, body);
      expect(answer.status).toBe(400);
      expect(answer.body.error.param).toBe(param);
    }
  });

  it('answers an unknown id and a malformed one with the same 404', async () => {
    for (const id of [newId(), 'acme', '%27']) {
      expect((await patch(id, { name: 'x' })).body.error.code).toBe('not_found');
      expect((await tenants.call('GET', `${path}/${id}`)).status).toBe(404);
    }
  });
});

describe('listing tenants', () => {
  it('filters by status and by part of name or slug, taken literally', async () => {
    const { id } = await tenants.makeTenant({ slug: 'needle-7', name: '100% Wolle_GmbH' });
    await patch(id, { status: 'archived' });
    const list = async (query: string) =>
      (await tenants.call('GET', `${path}?${query}`)).body.data.map((item) => item.id);
    for (const q of ['NEEDLE', '100%25', 'wolle_', '_gmbh']) expect(await list(`q=${q}`)).toEqual([id]);
    expect(await list('q=w%25lle')).toEqual([]);
    expect(await list('q=needle&status=archived')).toEqual([id]);
    expect(await list('q=needle&status=active')).toEqual([]);
  });

  it('pages from the newest to the oldest', async () => {
    const prefix = 'paged';
    const made: string[] = [];
    for (const n of [1, 2, 3]) made.unshift((await tenants.makeTenant({ slug: `${prefix}-${n}` })).id);
    const first = (await tenants.call('GET', `${path}?q=${prefix}&limit=2`)).body;
    const second = (await tenants.call('GET', `${path}?q=${prefix}&cursor=${String(first.next_cursor)}`))
      .body;
    const ids = [...first.data, ...second.data].map((item) => item.id);
    expect(ids).toEqual(made);
    expect(second.has_more).toBe(false);
  });

  it.each([
    ['status=gone', 'status'],
    ['cursor=x', 'cursor'],
    ['name=acme', 'name'],
    ['q=', 'q'],
  ])('answers ?%s with a 400', async (query, param) => {
    const answer = await tenants.call('GET', `${path}?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.body.error.param).toBe(param);
  });
});
