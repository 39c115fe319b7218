import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { z } from 'zod';
import { generateContentResponse } from '../src/gemini.ts';
import { chatCompletionChunk } from '../src/openai.ts';
import { openApiFile } from '../src/openapi.ts';
import type { Example } from '../src/route.ts';
import { apiRoutes, type Route } from '../src/routes.ts';
import { openApiDocument } from './document.ts';
import { examplesOf } from './examples.ts';
import { openApiPath } from './parameters.ts';

interface Operation {
  operationId: string;
  responses: object;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
}

const source = readFileSync(openApiFile, 'utf8');
const document = JSON.parse(source) as Document;

function operationOf({ path, method }: Route): Operation {
  const operation = document.paths[openApiPath(path)]?.[method.toLowerCase()];
  if (operation === undefined) throw new Error(`${method} ${path} is not in the document`);
  return operation;
}

const statusesOf = (id: string): number[] =>
  apiRoutes
    .filter((route) => route.id === id)
    .flatMap((route) => Object.keys(operationOf(route).responses).map(Number));

function problems(shape: z.ZodType, value: unknown): string[] {
  return (
    shape.safeParse(value).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? []
  );
}

describe('the committed document', () => {
  it('is the one that "make gen" makes', () => {
    expect(JSON.parse(source)).toEqual(openApiDocument());
  });

  it('is OpenAPI 3.1 without an error or a warning, its examples valid by its own schemas', async () => {
    const config = await createConfig({
      extends: ['recommended-strict'],
      rules: {
        'no-invalid-media-type-examples': 'error',
        'no-invalid-parameter-examples': 'error',
        'no-invalid-schema-examples': 'error',
      },
    });
    const found = await lintFromString({ source, absoluteRef: openApiFile, config });
    expect(found.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  });

  it('has an operation for every route of the table, and no other', () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) =>
        [method.toUpperCase(), path, operationId].join(' '),
      ),
    );
    const expected = apiRoutes.map(({ id, method, path }) => [method, openApiPath(path), id].join(' '));
    expect(operations.sort()).toEqual(expected.sort());
  });

  it('says that the input of embeddings is not empty', () => {
    const { components } = JSON.parse(source) as { components: { schemas: Record<string, object> } };
    expect(components.schemas['EmbeddingsRequest']).toMatchObject({
      properties: {
        input: { anyOf: [{ minLength: 1 }, { minItems: 1 }, { minItems: 1 }, { minItems: 1 }] },
      },
    });
  });

  it('lists the errors of a route by what it takes', () => {
    expect(statusesOf('health')).toEqual([200, 400, 405, 408, 431, 500, 503]);
    expect(statusesOf('openapi')).toEqual([200, 304, 400, 405, 408, 431, 500]);
    expect(statusesOf('agents.get')).toEqual([200, 400, 401, 403, 404, 405, 408, 431, 500, 502, 503, 504]);
    expect(statusesOf('agents.create')).toEqual([
      201, 400, 401, 403, 405, 408, 409, 413, 415, 429, 431, 500, 502, 503, 504,
    ]);
    expect(statusesOf('chat.completions')).toEqual([
      200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 431, 500, 502, 503, 504,
    ]);
  });

  it('is not made while a response has no name', () => {
    const [route] = apiRoutes.filter(({ id }) => id === 'whoami');
    const nameless = { ...route, response: { status: 200, shape: z.strictObject({}) } } as Route;
    expect(() => openApiDocument([nameless])).toThrow('the response of whoami has no name');
  });

  it('is not made while a parameter of a path has no description', () => {
    const [route] = apiRoutes.filter(({ id }) => id === 'whoami');
    const odd = { ...route, path: '/v1/whoami/{odd}' } as Route;
    expect(() => openApiDocument([odd])).toThrow('has no schema for {odd} of whoami');
  });
});

describe('the examples', () => {
  it('are there for every route', () => {
    expect(() => examplesOf({ id: 'some.route' })).toThrow('the route some.route has no example');
  });

  const all = apiRoutes.flatMap((route) =>
    Object.entries(examplesOf(route)).map(([name, example]) => ({
      name: `${route.id}: ${name}`,
      route,
      example,
    })),
  );

  it.each(all)('$name is by the shapes of its route', ({ route, example }) => {
    const { body, passedBody, bodyForm, bodyLines } = route;
    const requestShape = body ?? passedBody ?? bodyForm ?? (bodyLines && z.array(bodyLines));
    expect(example.body !== undefined).toBe(requestShape !== undefined);
    if (requestShape !== undefined) expect(problems(requestShape, example.body)).toEqual([]);
    if (example.query !== undefined) expect(route.query && problems(route.query, example.query)).toEqual([]);
    const named = [...route.path.matchAll(/\{(\w+)\+?\}/g)].map(([, name]) => name);
    expect(Object.keys(example.params ?? {})).toEqual(named);
    const { shape: one, lines } = route.response;
    const shape = lines === true && one !== null ? z.array(one) : one;
    if (example.events !== undefined) expect(route.response.events).toBe(true);
    else if (shape === null) expect(example.response).toBeUndefined();
    else expect(problems(shape, example.response)).toEqual([]);
  });

  const streams = all.filter(({ example }) => example.events !== undefined);
  const dataOf = ({ events = '' }: Example): string[] =>
    [...events.matchAll(/^data: (.*)\n\n/gm)].map(([, text]) => text ?? '');

  it.each(streams.filter(({ route }) => !route.dialects?.includes('gemini')))(
    '$name is a stream of its API, with its end',
    ({ example, name }) => {
      const data = dataOf(example);
      expect(data.length).toBeGreaterThan(3);
      const last = data.pop();
      if (name.startsWith('messages.')) {
        expect(last).toBe('{"type":"message_stop"}');
        const types = data.map((text) => (JSON.parse(text) as { type: string }).type);
        expect([types[0], types.at(-1)]).toEqual(['message_start', 'message_delta']);
        return;
      }
      if (/^(azure\.(v1\.)?)?responses/.test(name)) {
        const types = [...data, last ?? ''].map((text) => (JSON.parse(text) as { type: string }).type);
        expect([types[0], types.at(-1)]).toEqual(['response.created', 'response.completed']);
        return;
      }
      expect(last).toBe('[DONE]');
      for (const text of data) expect(problems(chatCompletionChunk, JSON.parse(text))).toEqual([]);
    },
  );

  it.each(streams.filter(({ route }) => route.dialects?.includes('gemini')))(
    '$name is a stream of responses, of which the last one alone has a finish reason',
    ({ example }) => {
      const responses = dataOf(example).map((text) => generateContentResponse.parse(JSON.parse(text)));
      const reasons = responses.flatMap(({ candidates }) =>
        candidates?.map(({ finishReason }) => finishReason),
      );
      expect(reasons).toEqual([...responses.slice(1).map(() => undefined), 'STOP']);
    },
  );
});
