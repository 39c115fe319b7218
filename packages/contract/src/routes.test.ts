import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { consoleRoutes, relayId } from './console.ts';
import { isOperatorSurface } from './operator-surface.ts';
import { pageFilesId, webRoutes } from './pages.ts';
import { routes } from './routes.ts';
import { isScimTarget } from './scim.ts';
import { scopes } from './scopes.ts';

describe('the route table', () => {
  it('names every route once, and no method of a path twice', () => {
    const unique = (values: string[]): void => expect(values).toHaveLength(new Set(values).size);
    unique(routes.map((route) => route.id));
    // Two routes that differ only in parameter names would hide each other.
    unique(routes.map((route) => `${route.method} ${route.path.replaceAll(/\{\w+(\+?)\}/g, '{$1}')}`));
  });

  it('names for every route which keys may call it; only probes, the documentation, the console and the files of pages are public', () => {
    for (const { access, id } of routes) {
      expect(['public', 'signed', 'ticket', 'session', 'key', 'scope', 'admin', 'owner']).toContain(
        access.kind,
      );
      if (access.kind === 'scope')
        expect(scopes).toEqual(expect.arrayContaining([access.scope, access.also ?? access.scope]));
      if (access.kind === 'signed') expect(['webhooks.llm', 'webhooks.message']).toContain(id);
      if (access.kind === 'public')
        expect([
          'health',
          'hello',
          'openapi',
          ...[...consoleRoutes, ...webRoutes].map((route) => route.id),
        ]).toContain(id);
    }
  });

  it('lets people act for themselves in a session where data of users is deleted, and nowhere else', () => {
    for (const { access, path } of routes) {
      const orSelf = access.kind === 'admin' ? access.orSelf : undefined;
      const isOfUser = path.startsWith('/v1/users/{user_id}/data');
      expect(orSelf).toEqual(isOfUser ? ['memory.write', 'cookies.write'] : undefined);
    }
  });

  it('keeps owner routes under /internal, and everything else out of there', () => {
    for (const { access, path } of routes) {
      expect(path.startsWith('/internal/v1/owner/')).toBe(access.kind === 'owner');
      expect(path).toMatch(
        /^\/(internal\/v1\/owner|v1|v1beta|scim\/v2|openai|health|api\/hello|openapi\.json|api-docs|app|login|logout|device)?(\/|$)/,
      );
    }
  });

  it('closes to the relay what is on the operator surface by its path, and takes every method at the relay alone', () => {
    for (const { id, method, operatorSurface, path } of routes) {
      expect(operatorSurface).toBe(isOperatorSurface(method, path));
      expect(method === '*').toBe(id === relayId);
      expect(path.endsWith('*}')).toBe(id === relayId || id === pageFilesId);
    }
  });

  it('takes an Idempotency-Key wherever something is created, and where a secret is made', () => {
    const others = new Set([
      ...['kg.entities.upsert', 'kg.relations.upsert', 'kg.extract', 'memory.import'],
      ...[
        'api-keys.rotate',
        'me.api-keys.rotate',
        'webhooks.endpoints.rotate-secret',
        'webhooks.calls.redeliver',
      ],
      ...['webhooks.subscriptions.test', 'owner.webhook-subscriptions.test', 'transfers.create'],
      ...['files.create', 'batches.create', 'messages.batches.create'],
    ]);
    for (const { id, method, idempotencyKey, response } of routes) {
      const creates = method === 'POST' && (response.status === 201 || others.has(id));
      expect([id, idempotencyKey]).toEqual([id, creates]);
    }
  });

  it('takes dry_run wherever the configuration is changed, and nowhere else', () => {
    const dataScopes = ['chat', 'cookies.write', 'memory.read', 'memory.write'];
    for (const { id, method, access, administrative } of routes) {
      const isOfData = access.kind === 'scope' && dataScopes.includes(access.scope);
      const needsNoKey = ['public', 'signed', 'ticket', 'session'].includes(access.kind);
      const only = method === 'GET' || method === '*' || isOfData || needsNoKey;
      const changesNothing = id === 'mcp.servers.refresh' || id === 'guardrails.test';
      const expected = id === 'mcp.logins.delete' || (!only && !changesNothing);
      expect([id, administrative]).toEqual([id, expected]);
    }
  });

  it('returns no secret, and no id of a new resource, in a dry run', () => {
    for (const { id, administrative, nullInDryRun, response } of routes) {
      if (!administrative) continue;
      const members = response.shape instanceof z.ZodObject ? Object.entries(response.shape.shape) : [];
      const hidden = members.filter(
        ([name, shape]) =>
          (name === 'id' && response.status !== 200) ||
          /shown only in this response/i.test((shape as z.ZodType).description ?? ''),
      );
      const names = hidden.map(([name]) => name);
      expect([id, names.filter((name) => !nullInDryRun.includes(name))]).toEqual([id, []]);
      expect(members.map(([name]) => name)).toEqual(expect.arrayContaining([...nullInDryRun]));
    }
  });

  it.each([
    ['GET', '/v1/agents', 'agents.read'],
    ['POST', '/v1/agents', 'agents.write'],
    ['GET', '/v1/agents/{agentID}', 'agents.read'],
    ['PATCH', '/v1/agents/{agentID}', 'agents.write'],
    ['DELETE', '/v1/agents/{agentID}', 'agents.write'],
    ['POST', '/v1/chat/completions', 'chat'],
    ['POST', '/v1/embeddings', 'chat'],
    ['POST', '/v1/moderations', 'chat'],
    ['GET', '/v1/api-keys', 'keys.write'],
    ['POST', '/v1/api-keys', 'keys.write'],
    ['POST', '/v1/api-keys/{id}/revoke', 'keys.write'],
    ['POST', '/v1/api-keys/{id}/rotate', 'keys.write'],
  ])('asks for the scope of the contract at %s %s: %s', (method, path, scope) => {
    const route = routes.find((entry) => entry.method === method && entry.path === path);
    expect(route?.access).toEqual({ kind: 'scope', scope });
  });

  it('takes the acting user on chat, files, batches, agents, cookies, MCP servers, their consents and logins, toolsets, traces, stops of runs, usage and costs, and nowhere else', () => {
    for (const { actingUser, method, path } of routes) {
      expect(actingUser).toBe(
        /^\/v1\/(chat|files|batches|embeddings|moderations|messages|responses|models|agents|browser|traces|runs|usage|costs|toolsets)(\/|$)/.test(
          path,
        ) ||
          /^\/(v1beta\/models|openai)(\/|$)/.test(path) ||
          path === '/v1/mcp/servers/{id}/consent-links' ||
          path.startsWith('/v1/mcp/logins') ||
          (path === '/v1/mcp/servers/{id}' && method === 'GET'),
      );
    }
  });

  it('gives each body its limit: 200 MiB to files of batches, 64 to imports, 32 to the messages API, 20 to other completions, 4 to documents, 256 KiB to messages of channels, 4 KiB to logins of programs, 1 to the rest, nothing where none is read', () => {
    for (const {
      id,
      access,
      passThrough,
      passedBody,
      body,
      bodyLines,
      bodyForm,
      bodyLimit,
      method,
      takesForm,
    } of routes) {
      const isSigned = access.kind === 'signed';
      const ofOther = takesForm === true ? 1 / 256 : 1;
      const ofBody = { 'memory.documents.put': 4, 'webhooks.message': 1 / 4 }[id] ?? ofOther;
      const ofCompletion = id.startsWith('messages.') ? 32 : 20;
      const isPassed = passThrough || id === 'messages.batches.create';
      const gathered = isPassed ? ofCompletion : body === undefined && !isSigned ? 0 : ofBody;
      const streamed = bodyForm !== undefined ? 200 : bodyLines !== undefined ? 64 : gathered;
      expect(bodyLimit).toBe(streamed * 2 ** 20);
      if (method === 'GET' || method === 'DELETE') expect([body, bodyLines]).toEqual([undefined, undefined]);
      // A link is made of nothing, buttons send nothing, and a form sends no JSON.
      else if (
        !/\.consent(\.|-)|\.accept$|\.cancel$|\.form$|logout$/.test(id) &&
        id !== 'mcp.servers.refresh'
      )
        expect(
          [body, bodyLines, bodyForm, passedBody].some((shape) => shape !== undefined) ||
            passThrough ||
            isSigned ||
            method === '*',
        ).toBe(true);
    }
  });

  it('refuses unknown fields in every body and query that it describes', () => {
    // The query of a callback is made by the provider, and clients of other APIs, of OAuth and of SCIM send theirs.
    const ours = routes.filter(
      ({ id, path, dialects, passThrough, oauthErrors }) =>
        ![id.endsWith('.callback'), isScimTarget(path), passThrough].includes(true) &&
        [dialects, oauthErrors].every((foreign) => foreign === undefined),
    );
    for (const { body, query } of ours) {
      for (const shape of [body, query].filter((candidate) => candidate !== undefined)) {
        const parsed = shape.safeParse({ 'no such field': 1 });
        expect(parsed.error?.issues.map((issue) => issue.code)).toContain('unrecognized_keys');
      }
    }
  });

  it('lists in pages of 1 to 200, 50 by default', () => {
    const lists = routes.filter(
      ({ id, query }) => /(?<!\b(?:models|files|batches))\.list$/.test(id) && query !== undefined,
    );
    expect(lists.map((route) => route.id)).toEqual(
      expect.arrayContaining(['agents.list', 'api-keys.list', 'owner.api-keys.list', 'owner.tenants.list']),
    );
    for (const { query } of lists) {
      const shape = query ?? z.strictObject({});
      expect(shape.parse({})).toEqual({ limit: 50 });
      expect(shape.parse({ limit: '200', cursor: 'x' })).toEqual({ limit: 200, cursor: 'x' });
      for (const limit of ['0', '-1', '201', '1.5', 'ten', '', 'NaN', 'Infinity', '1e9']) {
        expect(shape.safeParse({ limit }).success).toBe(false);
      }
      expect(shape.safeParse({ cursor: '' }).success).toBe(false);
    }
  });
});
