import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openApiFile } from '@gatehouse/contract/openapi';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { DocumentCheck, operationsOf, type OpenApiDocument } from '../conformance/openapi-document.ts';

/** Lists of models as the clients of each API ask for them. */

const document = JSON.parse(readFileSync(openApiFile, 'utf8')) as OpenApiDocument;
const check = new DocumentCheck(document);

let gateway: SomeGateway;
let tenant: TenantAccess;
beforeAll(async () => {
  gateway = await openGateway();
  tenant = await gateway.makeTenant();
});
afterAll(async () => gateway.stop());

const google = { 'x-goog-api-client': 'google-genai-sdk/3.3.0' };
const firstOfGoogle = { models: [{ name: 'models/small' }] };

const clients = [
  {
    whose: 'Anthropic’s',
    root: '/v1',
    own: { 'anthropic-version': '2023-06-01' },
    name: 'x-api-key',
    page: { data: [{ type: 'model' }] },
  },
  { whose: 'Google’s', root: '/v1', own: google, name: 'x-goog-api-key', page: firstOfGoogle },
  {
    whose: 'older ones of Google',
    root: '/v1beta',
    own: google,
    name: 'x-goog-api-key',
    page: firstOfGoogle,
  },
];

it.each(clients)('clients: $whose get them, and errors, as the document says', async (client) => {
  const { root, own, name, page } = client;
  const right = { ...own, [name]: tenant.userKey };
  for (const [path, headers, status] of [
    ['/models?limit=1&pageSize=1&other=x', right, 200],
    ['/models/small', right, 200],
    ['/models', own, 401],
    ['/models/small', { ...right, authorization: 'Bearer other' }, 400],
    ['/models/none', right, 404],
    ['/models', { ...right, 'x-service-user-id': 'é' }, 400],
  ] as const) {
    const route = root + path.replace(/\?.*/, '').replace(/(?<=\/models\/).*/, '{id}');
    const operation = operationsOf(document).find((each) => each.method === 'GET' && each.path === route);
    if (operation === undefined) throw new Error(`${route} is not documented`);
    const answer = await gateway.call(root + path, { headers });
    expect(answer).toMatchObject({ status });
    expect(answer.body).not.toMatchObject({ object: expect.any(String) });
    expect(check.problems(operation, answer)).toEqual([]);
    if (path.includes('?')) expect(answer.body).toMatchObject(page);
  }
});
