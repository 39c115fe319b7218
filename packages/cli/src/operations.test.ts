import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from '@jest/globals';
import { operationsOf, type OpenApiDocument } from './operations.ts';

const document = JSON.parse(
  readFileSync(path.join(import.meta.dirname, '../../contract/openapi.json'), 'utf8'),
) as OpenApiDocument;
const operations = operationsOf(document);
const named = (id: string) => operations.find((operation) => operation.id === id);

it('every operation for keys that takes JSON and returns it or lines becomes a command, and none in the format of a provider', () => {
  const ids = operations.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(['agents.create', 'owner.tenants.patch', 'kg.traverse']));
  expect(ids).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(chat|gemini|azure|messages)\./)]));
  // Forms, JSON lines that are sent, and events, which have a command of their own.
  for (const id of ['files.create', 'memory.import', 'traces.follow']) expect(named(id)).toBeUndefined();
  expect(ids).toEqual(expect.arrayContaining(['files.list', 'files.delete', 'batches.create']));
  // Signed requests have no key.
  expect(named('webhooks.llm')).toBeUndefined();
  expect(new Set(ids).size).toBe(ids.length);
});

it('answers that are lines of text are written as text', () => {
  const text = operations.filter(({ answer }) => answer === 'text').map(({ id }) => id);
  expect(text.toSorted()).toEqual([
    ...['audit-log.export', 'costs.export', 'files.content', 'memory.export', 'owner.audit-log.export'],
    'owner.costs.export',
  ]);
});

it('members of bodies have the kind of their values', () => {
  const members = new Map(named('agents.create')?.body?.map((member) => [member.name, member]));
  expect(members.get('key')).toMatchObject({ type: 'string', required: true });
  expect(members.get('model_fallbacks')).toMatchObject({ type: 'strings', required: false });
  expect(members.get('memory')?.type).toBe('json');
  expect(members.get('visibility')?.values).toEqual(['tenant', 'private']);
});

it('help shows the members of objects, and the texts of a member that may be null', () => {
  const key = new Map(named('api-keys.create')?.body?.map((member) => [member.name, member]));
  expect(key.get('budget')?.members).toBe('{usd: "…", period: month|day}');
  expect(key.get('limits')?.members).toBe(
    '{requests_per_minute: 1, tokens_per_minute: 1, max_concurrent: 1}',
  );
  const policy = new Map(named('policies.create')?.body?.map((member) => [member.name, member]));
  expect(policy.get('per')?.values).toEqual(expect.arrayContaining(['user', 'model']));
  expect(policy.get('select')?.members).toContain('models: ["…"]');
});

it('members of all forms of a body are known', () => {
  const members = named('channels.instances.create')?.body?.map(({ name }) => name);
  expect(members).toEqual(expect.arrayContaining(['type', 'name', 'agent_id', 'config', 'credentials']));
  expect(named('channels.instances.create')?.idempotencyKey).toBe(true);
});

it('parameters are those of the path or of the query', () => {
  const list = named('agents.list');
  expect(list?.queryParameters.map(({ name }) => name)).toEqual(expect.arrayContaining(['limit', 'cursor']));
  expect(named('agents.get')?.pathParameters.map(({ name }) => name)).toEqual(['agentID']);
  expect(list?.queryParameters.find(({ name }) => name === 'limit')?.type).toBe('number');
});

it('sets and defaults are those of the contract', () => {
  expect(named('agents.create')?.sets).toEqual(['tools.mcp_servers', 'tools.builtin', 'tools.web_hosts']);
  expect(named('api-keys.create')?.sets).toEqual(['scopes', 'toolsets']);
  const [timezone] = named('usage.summary')?.queryParameters.filter(({ name }) => name === 'timezone') ?? [];
  expect(timezone?.default).toBe('UTC');
});
