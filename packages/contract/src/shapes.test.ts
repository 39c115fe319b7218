import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { z } from 'zod';
import { createAgent, listAgents, patchAgent } from './agents.ts';
import { jsonRecord, searchableRecord, slug, storableText, timestamp, usd, userId, uuid } from './fields.ts';
import { createApiKey, createOwnerApiKey, listOwnerApiKeys, rotateApiKey } from './keys.ts';
import { createTenant, patchTenant } from './tenants.ts';
import { webhookInput } from './webhook-calls.ts';

/** The paths of all problems; `*` stands for unknown fields. */
function problems(shape: z.ZodType, value: unknown): string[] {
  const issues = shape.safeParse(value).error?.issues ?? [];
  return issues.map((issue) =>
    [...issue.path, ...(issue.code === 'unrecognized_keys' ? ['*'] : [])].map(String).join('.'),
  );
}

describe('shared fields', () => {
  it.each<[string, z.ZodType, unknown[], unknown[]]>([
    [
      'a slug',
      slug,
      ['a', '0', 'a-b', 'a--b', 'x'.repeat(64), `${'a'.repeat(63)}9`],
      ['', '-a', 'a-', '-', 'A', 'a_b', 'a b', 'ä', 'a\n', 'x'.repeat(65), 7, null],
    ],
    [
      'a user id',
      userId,
      ['a', ' ', '~', 'x'.repeat(255), 'user|42 <a@b.c>'],
      ['', 'x'.repeat(256), 'ü', 'a\n', 'a\u0000', '\u007f', 'a\tb', 7],
    ],
    [
      'an amount of USD',
      usd,
      ['0', '12', '12.5', '0.000000000001', '999999999999.999999999999'],
      ['', '-1', '+1', '1.', '.5', '1e3', '1,5', ' 1', '1\n', '0.0000000000001', '1234567890123', 1.5],
    ],
    [
      'a time',
      timestamp,
      ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.6789+02:00', '2026-12-31T23:59:59-23:59'],
      [
        '2026-01-02',
        '2026-01-02T03:04:05',
        '2026-02-30T00:00:00Z',
        '2026-01-02T24:00:00Z',
        'now',
        '',
        1_700_000_000,
      ],
    ],
    [
      'an id',
      uuid,
      ['01890a5d-ac96-774b-bcce-b302099a8057', '01890A5D-AC96-774B-BCCE-B302099A8057'],
      ['', '01890a5dac96774bbcceb302099a8057', '{01890a5d-ac96-774b-bcce-b302099a8057}', 'x'],
    ],
  ])('%s is taken when well formed and refused otherwise', (_name, shape, good, bad) => {
    for (const value of good) expect([value, shape.safeParse(value).success]).toEqual([value, true]);
    for (const value of bad) expect([value, shape.safeParse(value).success]).toEqual([value, false]);
  });

  it('returns times in UTC with milliseconds, for every offset they came with', () => {
    expect(timestamp.parse('2026-01-02T03:04:05+02:00')).toBe('2026-01-02T01:04:05.000Z');
    expect(timestamp.parse('2026-01-02T03:04:05.5Z')).toBe('2026-01-02T03:04:05.500Z');
  });

  it('takes exactly the text that PostgreSQL gives back unchanged', () => {
    const text = storableText(0, 1_000);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const storable = !value.includes('\u0000') && Buffer.from(value).toString() === value;
        expect(text.safeParse(value).success).toBe(storable);
      }),
    );
    expect(text.safeParse('\ud800').success).toBe(false);
    expect(text.safeParse('\u2028 \u{1f600}').success).toBe(true);
  });

  it('accepts texts in a searchable record that PostgreSQL can hold', () => {
    expect(searchableRecord.parse({ a: ['\u{1f600}', { b: '\u2028' }] })).toEqual({
      a: ['\u{1f600}', { b: '\u2028' }],
    });
    for (const text of ['\0', '\ud800'])
      for (const value of [text, [text], { [text]: 1 }])
        expect(searchableRecord.safeParse({ a: value }).success).toBe(false);
    const deep = JSON.parse(`{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`) as unknown;
    expect(searchableRecord.safeParse(deep).success).toBe(false);
  });

  it('accepts any JSON as a record except numbers that JSON cannot represent and deep nesting', () => {
    const record = fc.dictionary(fc.stringMatching(/^[a-z]{1,9}$/), fc.jsonValue({ maxDepth: 5 }));
    fc.assert(fc.property(record, (value) => expect(jsonRecord.parse(value)).toEqual(value)));
    const nested = (levels: number): unknown =>
      JSON.parse(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`);
    expect(jsonRecord.safeParse(nested(99)).success).toBe(true);
    expect(problems(jsonRecord, nested(101))).toEqual(['a']);
    expect(problems(jsonRecord, nested(50_000))).toEqual(['a']);
    expect(problems(jsonRecord, JSON.parse('{"a":{"b":[1e999]}}'))).toEqual(['a']);
    expect(problems(jsonRecord, JSON.parse('{"a":1,"__proto__":{"b":1}}'))).toEqual(['__proto__']);
    for (const wrong of [[], null, 'x', 1]) expect(jsonRecord.safeParse(wrong).success).toBe(false);
    for (const key of ['', 'x'.repeat(129), 'a\u0000'])
      expect(jsonRecord.safeParse({ [key]: 1 }).success).toBe(false);
  });
});

describe('the metadata of a delivery', () => {
  const of = (metadata: unknown): unknown => ({ input: 'x', metadata });
  const named = (count: number, value: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`${n}`, value]));

  it('has at most 16 texts', () => {
    expect(problems(webhookInput, of(named(16, 'x'.repeat(512))))).toEqual([]);
    expect(problems(webhookInput, of(named(17, 'x')))).toEqual(['metadata']);
    expect(problems(webhookInput, of({ a: 'x'.repeat(513), b: 7 }))).toEqual(['metadata.a', 'metadata.b']);
    expect(problems(webhookInput, of(JSON.parse('{"__proto__":"x"}')))).toEqual(['metadata.__proto__']);
    for (const wrong of [[], null, 'x']) expect(problems(webhookInput, of(wrong))).toEqual(['metadata']);
  });

  it('is counted before each is checked: that of 90,000 took a second', () => {
    const body = of(named(90_000, 0));
    const start = performance.now();
    expect(problems(webhookInput, body)).toEqual(['metadata']);
    expect(performance.now() - start).toBeLessThan(500);
  });
});

describe('creating an agent', () => {
  const least = { key: 'helper', model: 'small' };

  it('needs a key and a model; the rest has defaults', () => {
    expect(createAgent.parse(least)).toEqual({
      ...least,
      description: '',
      model_fallbacks: [],
      system_prompt: '',
      parameters: {},
      tools: { mcp_servers: [], builtin: [], web_hosts: [], max_iterations: 10, max_cost_usd: null },
      memory: { enabled: false, recall_limit: 5, min_score: 0.25, write: false, analyser: 'english' },
      visibility: 'tenant',
      status: 'active',
      metadata: {},
    });
    expect(problems(createAgent, {})).toEqual(['key', 'model']);
    expect(createAgent.parse({ ...least, tools: { builtin: ['web_fetch'] } }).tools).toEqual({
      mcp_servers: [],
      builtin: ['web_fetch'],
      web_hosts: [],
      max_iterations: 10,
      max_cost_usd: null,
    });
  });

  it('hands out defaults that no request can spoil for the next', () => {
    createAgent.parse(least).tools.mcp_servers.push('leaked');
    createAgent.parse(least).model_fallbacks.push('leaked');
    Object.assign(createAgent.parse(least).metadata, { leaked: true });
    const next = createAgent.parse(least);
    expect([next.tools.mcp_servers, next.model_fallbacks, next.metadata]).toEqual([[], [], {}]);
  });

  it.each<[Record<string, unknown>, string]>([
    [{ key: 'Helper' }, 'key'],
    [{ model: '' }, 'model'],
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ description: null }, 'description'],
    [{ system_prompt: 'a\u0000b' }, 'system_prompt'],
    [{ model_fallbacks: 'small' }, 'model_fallbacks'],
    [{ model_fallbacks: ['a', ''] }, 'model_fallbacks.1'],
    [{ model_fallbacks: Array(11).fill('a') }, 'model_fallbacks'],
    [{ tools: { max_iterations: 0 } }, 'tools.max_iterations'],
    [{ tools: { max_iterations: 51 } }, 'tools.max_iterations'],
    [{ tools: { max_cost_usd: '-1' } }, 'tools.max_cost_usd'],
    [{ tools: { mcp_servers: ['a b'] } }, 'tools.mcp_servers.0'],
    [{ tools: { mcp_servers: ['files/'] } }, 'tools.mcp_servers.0'],
    [{ tools: { builtin: ['shell'] } }, 'tools.builtin.0'],
    [{ tools: { web_hosts: ['https://a.example'] } }, 'tools.web_hosts.0'],
    [{ tools: { web_hosts: ['a.*.example'] } }, 'tools.web_hosts.0'],
    [{ tools: { unknown: 1 } }, 'tools.*'],
    [{ memory: { recall_limit: 51 } }, 'memory.recall_limit'],
    [{ memory: { min_score: 1.1 } }, 'memory.min_score'],
    [{ memory: { enabled: 'yes' } }, 'memory.enabled'],
    [{ visibility: 'public' }, 'visibility'],
    [{ owner_user_id: 'ü' }, 'owner_user_id'],
    [{ status: 'deleted' }, 'status'],
    [{ metadata: [] }, 'metadata'],
    [{ id: 'x' }, '*'],
    [{ parameters: { temperature: 2.1 } }, 'parameters.temperature'],
    [{ parameters: { temperature: '1' } }, 'parameters.temperature'],
    [{ parameters: { top_p: -0.1 } }, 'parameters.top_p'],
    [{ parameters: { n: 0 } }, 'parameters.n'],
    [{ parameters: { max_tokens: 1.5 } }, 'parameters.max_tokens'],
    [{ parameters: { model: 'other' } }, 'parameters.model'],
    [{ parameters: { messages: [] } }, 'parameters.messages'],
    [{ parameters: { stream: true } }, 'parameters.stream'],
    [{ parameters: { stream_options: {} } }, 'parameters.stream_options'],
    [{ parameters: { input: 'x' } }, 'parameters.input'],
  ])('refuses %j and says where', (fields, at) => {
    expect(problems(createAgent, { ...least, ...fields })).toEqual([at]);
  });

  it('takes parameters that it does not know, and null for those it does', () => {
    const parameters = {
      temperature: 0,
      max_tokens: 0,
      seed: -9_007_199_254_740_991,
      top_p: null,
      x_vendor: { a: [1] },
    };
    expect(createAgent.parse({ ...least, parameters }).parameters).toEqual(parameters);
  });
});

describe('changing an agent', () => {
  it('fills nothing in: what is absent stays as it is', () => {
    expect(patchAgent.parse({})).toEqual({});
    const part = { tools: { max_iterations: 3 }, memory: { write: true }, parameters: { top_p: null } };
    expect(patchAgent.parse(part)).toEqual(part);
  });

  it('holds to the rules of creation', () => {
    expect(problems(patchAgent, { key: '-', tools: { x: 1 }, id: 'x' }).sort()).toEqual([
      '*',
      'key',
      'tools.*',
    ]);
    expect(problems(patchAgent, { name: null })).toEqual(['name']);
    expect(problems(patchAgent, { parameters: { stream: null } })).toEqual(['parameters.stream']);
  });

  it('never ignores a bad filter of the list', () => {
    expect(listAgents.parse({ status: 'active', q: 'x' })).toEqual({ limit: 50, status: 'active', q: 'x' });
    expect(problems(listAgents, { status: 'all' })).toEqual(['status']);
    expect(problems(listAgents, { q: '' })).toEqual(['q']);
  });
});

describe('tenants', () => {
  it('need a slug and a name; the rest has defaults', () => {
    expect(createTenant.parse({ slug: 'acme', name: 'Acme' })).toEqual({
      slug: 'acme',
      name: 'Acme',
      limits: { max_concurrent: 1_000 },
      budget: null,
      allowed_models: null,
      timezone: 'UTC',
      retention_days: 90,
      previews: { max_chars: 500 },
      user_keys: { enabled: true, max: 5, max_days: 90 },
      acting_users: 'any',
      scim_user_id: 'externalId',
    });
    expect(createTenant.parse({ slug: 'a', name: 'A', previews: { enabled: false } }).previews).toEqual({
      enabled: false,
      max_chars: 500,
    });
    expect(patchTenant.parse({})).toEqual({});
    expect(patchTenant.parse({ previews: { max_chars: 1 } })).toEqual({ previews: { max_chars: 1 } });
  });

  it.each<[Record<string, unknown>, string]>([
    [{ slug: 'Acme' }, 'slug'],
    [{ timezone: 'Mars/Olympus' }, 'timezone'],
    [{ timezone: '' }, 'timezone'],
    [{ retention_days: 0 }, 'retention_days'],
    [{ retention_days: 1.5 }, 'retention_days'],
    [{ limits: { requests_per_minute: 0 } }, 'limits.requests_per_minute'],
    [{ limits: { requests: 1 } }, 'limits.*'],
    [{ budget: { usd: 12.5, period: 'month' } }, 'budget.usd'],
    [{ budget: { usd: '12.5', period: 'week' } }, 'budget.period'],
    [{ budget: { usd: '1' } }, 'budget.period'],
    [{ allowed_models: ['a', 1] }, 'allowed_models.1'],
    [{ previews: { max_chars: 10_001 } }, 'previews.max_chars'],
    [{ created_at: '2026-01-01T00:00:00.000Z' }, '*'],
  ])('are refused with %j, at creation and change alike', (fields, at) => {
    expect(problems(createTenant, { slug: 'acme', name: 'Acme', ...fields })).toEqual([at]);
    expect(problems(patchTenant, fields)).toEqual([at]);
  });

  it('know real time zones, and lift a limit or a budget with null', () => {
    for (const timezone of ['Europe/Berlin', 'America/Argentina/Buenos_Aires', 'UTC']) {
      expect(patchTenant.parse({ timezone })).toEqual({ timezone });
    }
    const lifted = { limits: { tokens_per_minute: null }, budget: null, allowed_models: null };
    expect(patchTenant.parse(lifted)).toEqual(lifted);
  });
});

describe('API keys', () => {
  it.each<[Record<string, unknown>, string]>([
    [{ role: 'owner' }, 'role'],
    [{ role: undefined }, 'role'],
    [{ name: '' }, 'name'],
    [{ scopes: ['root'] }, 'scopes.0'],
    [{ scopes: 'chat' }, 'scopes'],
    [{ user_id: '' }, 'user_id'],
    [{ expires_at: '2026-01-01' }, 'expires_at'],
    [{ limits: { max_concurrent: -1 } }, 'limits.max_concurrent'],
    [{ tenant_id: '01890a5d-ac96-774b-bcce-b302099a8057' }, '*'],
    [{ key: 'gwk_mine' }, '*'],
  ])('of a tenant are refused with %j', (fields, at) => {
    expect(problems(createApiKey, { name: 'ci', role: 'user', ...fields })).toEqual([at]);
  });

  it('of the owner are for owners and admins, and take no limits', () => {
    expect(createOwnerApiKey.parse({ name: 'n', role: 'owner' })).toEqual({ name: 'n', role: 'owner' });
    expect(problems(createOwnerApiKey, { name: 'n', role: 'user' })).toEqual(['role']);
    expect(problems(createOwnerApiKey, { name: 'n', role: 'admin', tenant_id: 'x' })).toEqual(['tenant_id']);
    expect(problems(createOwnerApiKey, { name: 'n', role: 'owner', limits: {} })).toEqual(['*']);
    expect(problems(listOwnerApiKeys, { status: 'gone', unused_since: 'monday' })).toEqual([
      'status',
      'unused_since',
    ]);
  });

  it('rotate at once by default, with an overlap of a day at most', () => {
    expect(rotateApiKey.parse({})).toEqual({ overlap_seconds: 0 });
    for (const overlap_seconds of [-1, 86_401, 1.5, '60', null]) {
      expect(problems(rotateApiKey, { overlap_seconds })).toEqual(['overlap_seconds']);
    }
  });
});
