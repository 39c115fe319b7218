import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Agent } from '@gatehouse/contract/agents';
import { maxFieldBytes } from '../src/bounds.ts';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

let agents: AgentServiceUnderTest;
let tenant: TestTenant;
let agent: Agent;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
  tenant = agents.makeTenant();
  agent = await agents.makeAgent(tenant.admin, { key: 'victim' });
});
afterAll(async () => {
  // Nothing of what this file sends may be kept.
  const { body } = await agents.get(tenant.admin, 'victim');
  const keys = await agents.listKeys(tenant.admin);
  await agents.stop();
  expect(body).toEqual(agent);
  expect(keys).toEqual(['victim']);
});

const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });

/** Each is wrong in a new agent and in a patch alike. */
const wrongFields: [fields: Record<string, unknown>, code: string, param: string][] = [
  [{ owner: 'me' }, 'unknown_parameter', 'owner'],
  [{ id: '0' }, 'unknown_parameter', 'id'],
  [{ created_at: '2026-01-01T00:00:00.000Z' }, 'unknown_parameter', 'created_at'],
  [{ tenant_id: '0' }, 'unknown_parameter', 'tenant_id'],
  [{ tools: { mcp: [] } }, 'unknown_parameter', 'tools.mcp'],
  [{ memory: { recall: 1 } }, 'unknown_parameter', 'memory.recall'],
  [{ key: '' }, 'invalid_value', 'key'],
  [{ key: 'Support' }, 'invalid_value', 'key'],
  [{ key: '-a' }, 'invalid_value', 'key'],
  [{ key: 'a-' }, 'invalid_value', 'key'],
  [{ key: 'a_b' }, 'invalid_value', 'key'],
  [{ key: 'a/b' }, 'invalid_value', 'key'],
  [{ key: 'ä' }, 'invalid_value', 'key'],
  [{ key: 'a\n' }, 'invalid_value', 'key'],
  [{ key: 'a'.repeat(65) }, 'invalid_value', 'key'],
  [{ key: null }, 'invalid_type', 'key'],
  [{ name: '' }, 'invalid_value', 'name'],
  [{ name: 7 }, 'invalid_type', 'name'],
  [{ name: null }, 'invalid_type', 'name'],
  [{ name: 'x'.repeat(201) }, 'invalid_value', 'name'],
  [{ name: 'a\u0000b' }, 'invalid_value', 'name'],
  [{ description: '\ud800' }, 'invalid_value', 'description'],
  [{ description: 'x'.repeat(5_001) }, 'invalid_value', 'description'],
  [{ system_prompt: 'a\udfffb' }, 'invalid_value', 'system_prompt'],
  [{ system_prompt: 'x'.repeat(200_001) }, 'invalid_value', 'system_prompt'],
  [{ model: '' }, 'invalid_value', 'model'],
  [{ model: null }, 'invalid_type', 'model'],
  [{ model: 'm\u0000' }, 'invalid_value', 'model'],
  [{ model_fallbacks: 'large' }, 'invalid_type', 'model_fallbacks'],
  [{ model_fallbacks: ['small', 1] }, 'invalid_type', 'model_fallbacks[1]'],
  [{ model_fallbacks: Array(11).fill('small') }, 'invalid_value', 'model_fallbacks'],
  [{ parameters: null }, 'invalid_type', 'parameters'],
  [{ parameters: [] }, 'invalid_type', 'parameters'],
  [{ parameters: { temperature: 2.1 } }, 'invalid_value', 'parameters.temperature'],
  [{ parameters: { max_tokens: -1 } }, 'invalid_value', 'parameters.max_tokens'],
  [{ parameters: { n: 'many' } }, 'invalid_value', 'parameters.n'],
  [{ parameters: { model: 'large' } }, 'invalid_value', 'parameters.model'],
  [{ parameters: { messages: [] } }, 'invalid_value', 'parameters.messages'],
  [{ parameters: { stream: true } }, 'invalid_value', 'parameters.stream'],
  [{ parameters: { '': 1 } }, 'invalid_value', 'parameters.'],
  [{ parameters: { a: 'x'.repeat(maxFieldBytes) } }, 'invalid_value', 'parameters'],
  [{ tools: null }, 'invalid_type', 'tools'],
  [{ tools: { builtin: ['shell'] } }, 'invalid_value', 'tools.builtin[0]'],
  [{ tools: { mcp_servers: ['Not a slug'] } }, 'invalid_value', 'tools.mcp_servers[0]'],
  [{ tools: { max_iterations: 0 } }, 'invalid_value', 'tools.max_iterations'],
  [{ tools: { max_iterations: 1.5 } }, 'invalid_type', 'tools.max_iterations'],
  [{ memory: { enabled: 'yes' } }, 'invalid_type', 'memory.enabled'],
  [{ memory: { recall_limit: 51 } }, 'invalid_value', 'memory.recall_limit'],
  [{ memory: { min_score: 1.1 } }, 'invalid_value', 'memory.min_score'],
  [{ memory: { analyser: 'thai' } }, 'invalid_value', 'memory.analyser'],
  [{ visibility: 'public' }, 'invalid_value', 'visibility'],
  [{ owner_user_id: '' }, 'invalid_value', 'owner_user_id'],
  [{ owner_user_id: 'Žofie' }, 'invalid_value', 'owner_user_id'],
  [{ owner_user_id: 'x'.repeat(256) }, 'invalid_value', 'owner_user_id'],
  [{ status: 'archived' }, 'invalid_value', 'status'],
  [{ metadata: null }, 'invalid_type', 'metadata'],
  [{ metadata: 'x' }, 'invalid_type', 'metadata'],
  [{ metadata: { 'a\u0000': 1 } }, 'invalid_value', 'metadata.a\u0000'],
  [{ metadata: { a: 'ä'.repeat(maxFieldBytes / 2) } }, 'invalid_value', 'metadata'],
  [{ metadata: { a: nested(101) } }, 'invalid_value', 'metadata.a'],
];

describe.each(wrongFields)('the fields %j', (fields, code, param) => {
  it(`answer a new agent and a patch with a 400 ${code} naming ${param}`, async () => {
    const body = { key: 'never-made', model: 'small', ...fields };
    for (const answer of [
      await agents.call('POST', '/v1/agents', { as: tenant.admin, body }),
      await agents.patch(tenant.admin, 'victim', fields),
    ]) {
      expect(answer.status).toBe(400);
      expect(answer.body.error).toMatchObject({ type: 'invalid_request_error', code, param });
    }
  });
});

describe('a new agent', () => {
  it.each([
    [{ model: 'small' }, 'key'],
    [{ key: 'never-made' }, 'model'],
  ])('of %j alone is a 400 naming what is missing', async (body, param) => {
    const answer = await agents.call('POST', '/v1/agents', { as: tenant.admin, body });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code: 'missing_required_parameter', param });
  });
});

describe.each([
  ['POST', '/v1/agents'],
  ['PATCH', '/v1/agents/victim'],
])('%s %s', (method, path) => {
  const send = (text: string, headers: Record<string, string> = {}) =>
    agents.call(method, path, { as: tenant.admin, text, headers });

  it.each([
    ['{', 'invalid_json'],
    ['{"name":"x",}', 'invalid_json'],
    ['nonsense', 'invalid_json'],
    ['{"name":"\\u12"}', 'invalid_json'],
    ['null', 'invalid_type'],
    ['[]', 'invalid_type'],
    ['"x"', 'invalid_type'],
    ['7', 'invalid_type'],
    // A member of this name is a field like another, and zod would leave it out without a word.
    ['{"key":"a","model":"small","__proto__":{"name":"x"}}', 'unknown_parameter'],
    ['{"key":"a","model":"small","metadata":{"__proto__":{"a":1}}}', 'invalid_value'],
    ['{"key":"a","model":"small","parameters":{"__proto__":1}}', 'invalid_value'],
    ['{"key":"a","model":"small","metadata":{"a":1e999}}', 'invalid_value'],
    [
      `{"key":"a","model":"small","metadata":{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`,
      'invalid_json',
    ],
    [`{"key":"a","model":"small","metadata":{"a":${'['.repeat(150)}${']'.repeat(150)}}}`, 'invalid_value'],
    [`${'['.repeat(200_000)}${']'.repeat(200_000)}`, 'invalid_json'],
  ])('answers %.40s with a 400 %s', async (text, code) => {
    const answer = await send(text);
    expect(answer.status).toBe(400);
    expect(answer.body.error.code).toBe(code);
  });

  it('answers another content type with 415 and a large body with 413', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp']) {
      expect((await send('{}', { 'content-type': type })).status).toBe(415);
    }
    const large = await send(`{"name":"${'x'.repeat(1024 * 1024)}"}`);
    expect(large.status).toBe(413);
    expect(large.body.error.code).toBe('payload_too_large');
  });

  it('knows no query parameters', async () => {
    const answer = await agents.call(method, `${path}?force=true`, {
      as: tenant.admin,
      body: { key: 'never-made', model: 'small' },
    });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code: 'unknown_parameter', param: 'force' });
  });
});

describe('a reference that is neither id nor key', () => {
  it.each([
    ['%00', '\u0000'],
    ['a%00b', 'a\u0000b'],
    ['%27%20or%20true--', "' or true--"],
    ['victim%20', 'victim '],
    ['VICTIM', 'VICTIM'],
    ['%25', '%'],
    ['%F0%9F%90%98', '🐘'],
    ['x'.repeat(5_000), 'x'.repeat(5_000)],
  ])('such as %.20s is a 404', async (path, ref) => {
    for (const answer of [
      await agents.get(tenant.admin, path),
      await agents.patch(tenant.admin, path, { name: 'x' }),
      await agents.delete(tenant.admin, path),
    ]) {
      expect(answer.status).toBe(404);
      expect(answer.body.error.code).toBe('not_found');
    }
    await expect(agents.resolve(tenant.admin, ref)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is nothing for gRPC either when it is empty or no path could hold it', async () => {
    for (const ref of ['', '/', '..', '\u0000']) {
      await expect(agents.resolve(tenant.admin, ref)).rejects.toMatchObject({ code: 'not_found' });
    }
  });
});
