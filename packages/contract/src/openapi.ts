import path from 'node:path';
import { z } from 'zod';
import { ok, route, type Route } from './route.ts';

/** `GET /openapi.json`. */

export const openApiDocument = z.looseObject({
  openapi: z.literal('3.1.1'),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.looseObject({})),
});

/** The committed document, generated from the route table by `make gen`. */
export const openApiFile = path.join(import.meta.dirname, '../openapi.json');

export const routes: readonly Route[] = [
  route('openapi', 'GET /openapi.json', {
    service: 'edge',
    access: { kind: 'public' },
    response: { ...ok(openApiDocument), revalidated: true },
    summary: 'Get this document',
    examples: {
      document: {
        summary: 'The document, shortened',
        response: { openapi: '3.1.1', info: { title: 'Gatehouse', version: '0.3.0' }, paths: {} },
      },
    },
  }),
];
