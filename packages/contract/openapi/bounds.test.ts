import { expect, it } from '@jest/globals';
import { unboundedParts } from '@gatehouse/test/unbounded';
import { apiRoutes } from '../src/routes.ts';
import { openApiDocument } from './document.ts';
import { openApiPath } from './parameters.ts';

type Schema = Record<string, unknown>;

/** Defaults of requests, which the gateway passes on and does not calculate with. */
const passedOn = /^body\.parameters\.(?:max_tokens|max_completion_tokens|seed): number$/;

interface Operation {
  parameters: ({ $ref: string } | { name: string; schema: Schema })[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

const document = openApiDocument() as Schema & {
  paths: Record<string, Record<string, Operation>>;
  components: { parameters: Record<string, { name: string; schema: Schema }> };
};

it.each(apiRoutes.map((route) => [route.id, route] as const))(
  'every text, list and map that a caller of %s can fill has a maximum',
  (_id, route) => {
    const operation = document.paths[openApiPath(route.path)]?.[route.method.toLowerCase()];
    if (operation === undefined) throw new Error(`${route.id} is not in the document`);
    const parameters = operation.parameters.flatMap((entry) => {
      const parameter =
        '$ref' in entry ? document.components.parameters[entry.$ref.split('/').at(-1) ?? ''] : entry;
      return unboundedParts(parameter?.schema ?? {}, document, parameter?.name);
    });
    // Fields that are passed to providers are limited by the size of the body.
    const bodies = route.passedBody === undefined ? Object.values(operation.requestBody?.content ?? {}) : [];
    expect([
      ...parameters,
      ...bodies
        .flatMap(({ schema }) => unboundedParts(schema, document, 'body'))
        .filter((part) => !passedOn.test(part)),
    ]).toEqual([]);
    expect(route.bodyLimit).toBeLessThanOrEqual((route.bodyForm === undefined ? 64 : 200) * 1024 * 1024);
  },
);
