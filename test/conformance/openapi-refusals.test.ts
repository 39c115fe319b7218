import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import fc from 'fast-check';
import { openApiFile } from '@gatehouse/contract/openapi';
import { apiRoutes } from '@gatehouse/contract/routes';
import type { OpenApiDocument } from './openapi-document.ts';

/** The document refuses what the gateway refuses, as far as JSON Schema can say it, and nothing else. */

const document = JSON.parse(readFileSync(openApiFile, 'utf8')) as OpenApiDocument;
const ajv = new Ajv2020({ strict: false });
formats.default(ajv);
ajv.addSchema(document, 'openapi');

interface Judge {
  document: ValidateFunction;
  gateway: (value: unknown) => boolean;
}

/** The body of an operation, by its schema and by the shape of its route. */
function bodyOf(operationId: string): Judge {
  const route = apiRoutes.find(({ id }) => id === operationId);
  const path = Object.entries(document.paths).find(([, methods]) =>
    Object.values(methods).some((operation) => operation.operationId === operationId),
  );
  const shape = route?.body ?? route?.passedBody;
  if (route === undefined || shape === undefined || path === undefined)
    throw new Error(`${operationId} has no body`);
  const pointer = path[0].replaceAll('~', '~0').replaceAll('/', '~1');
  const at = `openapi#/paths/${encodeURIComponent(pointer)}/${route.method.toLowerCase()}/requestBody/content/application~1json/schema`;
  const validate = ajv.getSchema(at);
  if (validate === undefined) throw new Error(`the document has no ${at}`);
  return { document: validate, gateway: (value) => shape.safeParse(value).success };
}

const agent = { key: 'a', model: 'm' };
const server = { name: 's', url: 'https://a.example/mcp' };
const oauth = { type: 'oauth', client_secret: 's' };
const preview = {
  mode: 'copy',
  source_tenant_id: '0198c2b1-3c4d-7e5f-8a9b-0c1d2e3f4a5b',
  target_tenant_id: '0198c2b1-3c4d-7e5f-8a9b-0c1d2e3f4a5c',
};
const resource = { type: 'agent', id: '0198c2b1-3c4d-7e5f-8a9b-0c1d2e3f4a5d' };

describe('the document', () => {
  it.each<[string, string, unknown, unknown]>([
    ['a blank query', 'memory.search', { query: ' a ' }, { query: ' \n' }],
    ['NUL', 'memory.documents.put', { text: 'a\u0001' }, { text: 'a\0' }],
    [
      'a time before 1970',
      'memory.search',
      { query: 'a', filter: { since: '1970-01-01T00:00:00Z' } },
      { query: 'a', filter: { since: '1969-12-31T23:59:59Z' } },
    ],
    [
      'a time after 9998',
      'kg.traverse',
      { start: ['a'], as_of: '9998-12-31T23:59:59.999+07:00' },
      { start: ['a'], as_of: '9999-01-01T00:00:00Z' },
    ],
    [
      'a blank name',
      'kg.entities.upsert',
      { entities: [{ name: 'a', type: 'b' }] },
      { entities: [{ name: '\t', type: 'b' }] },
    ],
    [
      'a parameter that the gateway sets',
      'agents.create',
      { ...agent, parameters: { models: 1 } },
      { ...agent, parameters: { model: 'm' } },
    ],
    [
      'a parameter out of its range',
      'agents.create',
      { ...agent, parameters: { temperature: null, n: 128 } },
      { ...agent, parameters: { n: 0 } },
    ],
    [
      'what is no tool',
      'agents.create',
      { ...agent, tools: { mcp_servers: ['a', 'a/b/c d'] } },
      { ...agent, tools: { mcp_servers: ['a/'] } },
    ],
    [
      'a secret of no client',
      'mcp.servers.create',
      { ...server, auth: { ...oauth, client_id: 'c' } },
      { ...server, auth: oauth },
    ],
    [
      'no texts to embed',
      'embeddings.create',
      { model: 'm', input: [[1], [2]] },
      { model: 'm', input: [[1], []] },
    ],
    [
      'no choices',
      'chat.completions',
      { model: 'm', messages: [{ role: 'user' }], n: null },
      { model: 'm', messages: [{ role: 'user' }], n: 0 },
    ],
  ])('refuses %s', (_what, operationId, good, bad) => {
    const body = bodyOf(operationId);
    expect([body.document(good), body.gateway(good)]).toEqual([true, true]);
    expect([body.document(bad), body.gateway(bad)]).toEqual([false, false]);
  });

  it('refuses what handlers refuse: to forget nothing in particular, and a resource that is listed twice', () => {
    const forget = bodyOf('memory.forget').document;
    expect([forget({ session_id: 's' }), forget({})]).toEqual([true, false]);
    const transfer = bodyOf('transfers.previews.create').document;
    expect(transfer({ ...preview, resources: [resource] })).toBe(true);
    expect(transfer({ ...preview, resources: [resource, resource] })).toBe(false);
    expect(document.paths['/v1/agents/{agentID}/memory/forget']?.['post']?.requestBody).toMatchObject({
      required: true,
    });
  });

  it('has no format that only our own library knows', () => {
    const found = new Set(
      [...JSON.stringify(document).matchAll(/"format":"([^"]+)"/g)].map(([, name]) => name),
    );
    expect([...found].sort()).toEqual(['date-time', 'email', 'uri', 'uuid']);
  });

  it('requires the acting user for cookies and logins, and nowhere else', () => {
    const required = Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .filter(({ parameters }) =>
        parameters.some((entry) => '$ref' in entry && entry.$ref.endsWith('/Required-X-Service-User-Id')),
      );
    expect(required.map(({ operationId }) => operationId).sort()).toEqual([
      'browser.cookies.delete',
      'browser.cookies.list',
      'browser.cookies.sync',
      'mcp.logins.delete',
      'mcp.logins.list',
    ]);
    expect(document.components.parameters['Required-X-Service-User-Id']).toMatchObject({
      name: 'X-Service-User-Id',
      required: true,
    });
  });
});

/** Texts of a few marks, so that many are nearly right. */
const textOf = (...marks: string[]): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...marks), { maxLength: 8 }).map((parts) => parts.join(''));

it.each<[string, string, fc.Arbitrary<string>, (text: string) => unknown]>([
  [
    'times',
    'kg.traverse',
    fc
      .tuple(
        fc.constantFrom('0001', '1969', '1970', '2026', '9998', '9999'),
        fc.constantFrom('-02-28T', '-13-01T', '-02-30T', '-02-28 '),
        fc.constantFrom('00:00:00', '23:59:59.5', '24:00:00', '12:00'),
        fc.constantFrom('Z', 'z', '+07:00', '-23:59', '+7', ''),
      )
      .map((parts) => parts.join('')),
    (as_of) => ({ start: ['a'], as_of }),
  ],
  ['queries', 'memory.search', textOf(' ', '\n', '\0', 'a', '🦆'), (query) => ({ query })],
  [
    'names of servers and tools',
    'agents.create',
    textOf('a', '-', '/', ' ', 'A', '\0', '\n'),
    (ref) => ({ ...agent, tools: { mcp_servers: [ref] } }),
  ],
  [
    'cookies',
    'browser.cookies.sync',
    textOf('a', ' ', ';', '=', '\t', '\n', '\x7f', 'ü'),
    (value) => ({ agent_id: 'a', cookies: [{ name: 'n', value, domain: 'a.example' }] }),
  ],
])('the document and the gateway agree about %s', (_what, operationId, texts, around) => {
  const body = bodyOf(operationId);
  fc.assert(
    fc.property(texts, (text) => {
      expect([text, body.document(around(text))]).toEqual([text, body.gateway(around(text))]);
    }),
    { numRuns: 300 },
  );
});
