import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { createGenerator } from 'ts-json-schema-generator';
import { schemaCheck, type SchemaCheck } from './schema-check.ts';

/** The declarations of the resources that the gateway offers. */
const declarations = '{chat/completions/completions,embeddings,models,moderations,shared}.d.ts';

const types = [
  ...['ChatCompletion', 'ChatCompletionChunk', 'CreateEmbeddingResponse', 'ModerationCreateResponse'],
  ...['Model', 'ErrorObject'],
];

/** Shapes without a type in the SDK, as it unwraps both itself. */
const wrappers = {
  ModelList: {
    type: 'object',
    properties: {
      object: { const: 'list' },
      data: { type: 'array', items: { $ref: '#/definitions/Model' } },
    },
    required: ['object', 'data'],
  },
  ErrorResponse: {
    type: 'object',
    properties: { error: { $ref: '#/definitions/ErrorObject' } },
    required: ['error'],
  },
};

/**
 * OpenAI's schema as its official SDK declares it. OpenAI generates those declarations from its OpenAPI document, and
 * they are the newest copy of it that npm has; here they become JSON Schema. Required members must be there; unknown
 * members are let through, as OpenAI adds to its answers at any time. The OpenAPI document itself is the judge in `make
 * test-outside`.
 */
export function sdkSchemaCheck(): SchemaCheck {
  const resources = path.join(path.dirname(fileURLToPath(import.meta.resolve('openai'))), 'resources');
  const generator = createGenerator({
    path: path.join(resources, declarations),
    expose: 'all',
    jsDoc: 'none',
    additionalProperties: true,
    skipTypeCheck: true,
  });
  const declared = types.flatMap((type) => Object.entries(generator.createSchema(type).definitions ?? {}));
  const definitions = { ...Object.fromEntries(declared), ...wrappers };
  const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
  return schemaCheck(
    ajv,
    { definitions },
    {
      completion: '/definitions/ChatCompletion',
      chunk: '/definitions/ChatCompletionChunk',
      embeddings: '/definitions/CreateEmbeddingResponse',
      moderations: '/definitions/ModerationCreateResponse',
      model: '/definitions/Model',
      models: '/definitions/ModelList',
      error: '/definitions/ErrorResponse',
    },
  );
}
