import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { LocalCredentials } from '@gatehouse/local/credentials';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { problemsOf } from '../conformance/conformance.ts';
import { counterexamples } from '../conformance/counterexamples.ts';
import { exchanges, type Target } from '../conformance/exchanges.ts';
import { schemaCheck, type SchemaCheck } from '../conformance/schema-check.ts';
import { setting } from './step.ts';

/** A step of `make test-outside` (18-openai-openapi.sh): see test/outside/README.md. */

/** The document says 3.1 but still writes 3.0's `nullable` here and there, which JSON Schema would overlook. */
function readNullable(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(readNullable);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { nullable, ...rest } = schema as Record<string, unknown>;
  const read = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, readNullable(value)]));
  if (typeof nullable === 'object') return { ...read, nullable: readNullable(nullable) };
  return nullable === true ? { anyOf: [read, { type: 'null' }] } : read;
}

function openApiCheck(file: string): SchemaCheck {
  const { components } = parse(readFileSync(file, 'utf8')) as { components: { schemas: object } };
  // Not strict: the document has keywords of OpenAPI and of its authors' that JSON Schema does not know.
  const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false });
  const schemas = readNullable(components.schemas);
  return schemaCheck(
    ajv,
    { components: { schemas } },
    {
      completion: '/components/schemas/CreateChatCompletionResponse',
      chunk: '/components/schemas/CreateChatCompletionStreamResponse',
      embeddings: '/components/schemas/CreateEmbeddingResponse',
      moderations: '/components/schemas/CreateModerationResponse',
      model: '/components/schemas/Model',
      models: '/components/schemas/ListModelsResponse',
      error: '/components/schemas/ErrorResponse',
    },
  );
}

const file = path.join(setting('GATEHOUSE_STATE'), 'credentials.json');
const { url, user_key: key, agent_key: agent } = JSON.parse(readFileSync(file, 'utf8')) as LocalCredentials;
const target: Target = { url, key, models: ['gpt-4.1-mini'], agent: `agent:${agent}` };
const check = openApiCheck(setting('OPENAPI_DOCUMENT'));

function report(name: string, problems: readonly string[]): void {
  console.log(problems.length === 0 ? `ok: ${name}` : `failed: ${name}: ${problems.join('; ')}`);
  if (problems.length > 0) process.exitCode = 1;
}

for (const exchange of exchanges) report(exchange.name, await problemsOf(target, exchange, check));
for (const { name, kind, document } of counterexamples) {
  const refused = check(kind, document).length > 0;
  report(`refused: an answer ${name}`, refused ? [] : [`the schema accepts ${JSON.stringify(document)}`]);
}
