import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

/**
 * Every change that the API offers has a page: a new resource that pages can't create, change, rotate or delete fails
 * here. The compiler removes types, so sources are searched for the names of endpoints.
 */

const root = path.join(import.meta.dirname, '../../../..');
const source = path.join(import.meta.dirname, '..');

/** Changes without a page. */
const exceptions: readonly { operations: RegExp; reason: string }[] = [
  {
    operations:
      /^POST \/(?:openai|v1beta)\/|^POST \/v1\/(?:embeddings|moderations|messages|responses|models\/\{id\}:\w+)$/,
    reason: 'inference: the playground asks by chat completions',
  },
  {
    operations: /^POST \/v1\/(?:messages\/count_tokens|responses\/(?:compact|input_tokens))$/,
    reason: 'computes something for a program, and stores nothing',
  },
  {
    operations: /^(?:DELETE|POST) \/v1\/responses\/\{response_id\}/,
    reason: 'a program has the ids of its stored responses; the API has no list of them',
  },
  {
    operations: /^POST \/v1\/messages\/batches$/,
    reason: 'its body is thousands of requests, which programs write',
  },
  { operations: /^POST \/v1\/browser\/cookies\/sync$/, reason: 'extensions of browsers send cookies' },
  {
    operations: /^POST \/v1\/webhooks\/(?:llm|message)$/,
    reason: 'senders of webhooks and providers call it',
  },
  { operations: /^POST \/login\//, reason: 'pages of the login and programs' },
];

interface OpenApiDocument {
  paths: Record<string, Record<string, unknown>>;
}

const { paths } = JSON.parse(
  readFileSync(path.join(root, 'packages/contract/openapi.json'), 'utf8'),
) as OpenApiDocument;

const methods = ['post', 'put', 'patch', 'delete'];
const changes = Object.entries(paths).flatMap(([name, item]) =>
  methods.filter((method) => method in item).map((method) => `${method.toUpperCase()} ${name}`),
);
const expected = changes.filter((change) => !exceptions.some(({ operations }) => operations.test(change)));

/** The endpoints that a source names: whole, or as a prefix of the source before `${path}` or `${path}/{id}`. */
function endpointsIn(text: string): string[] {
  const whole = Array.from(
    text.matchAll(/['"]((?:POST|PUT|PATCH|DELETE) \/[^'"]+)['"]/g),
    ([, name = '']) => name,
  );
  const prefixes = Array.from(
    text.matchAll(/['"](\/(?:v1|internal)\/[^'"]+)['"]/g),
    ([, prefix = '']) => prefix,
  );
  const composed = Array.from(
    text.matchAll(/`(POST|PUT|PATCH|DELETE) \$\{path\}([^`]*)`/g),
    ([, method = '', suffix = '']) => prefixes.map((prefix) => `${method} ${prefix}${suffix}`),
  );
  // A path with several segments at its end is one parameter of the document.
  return [...whole, ...composed.flat()].map((name) => name.replace('+}', '}'));
}

const sources = ['pages', 'parts', 'api']
  .flatMap((folder) => readdirSync(path.join(source, folder)).map((file) => path.join(source, folder, file)))
  .filter((file) => !file.includes('.test.') && !file.endsWith('endpoints.ts'));
const used = new Set(sources.flatMap((file) => endpointsIn(readFileSync(file, 'utf8'))));
// The playground streams, so it sends its request itself.
used.add('POST /v1/chat/completions');

describe('pages', () => {
  it('have an action for every change of the API', () => {
    expect(expected.length).toBeGreaterThan(60);
    expect(expected.filter((change) => !used.has(change))).toEqual([]);
  });

  it.each(exceptions)('have none for $operations, since there are such changes', ({ operations }) => {
    expect(changes.filter((change) => operations.test(change))).not.toEqual([]);
  });
});
