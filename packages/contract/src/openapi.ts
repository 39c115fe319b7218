import path from 'node:path';
import { z } from 'zod';

/** `GET /openapi.json` (contract §3). */

export const openApiDocument = z.looseObject({
  openapi: z.literal('3.1.1'),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.looseObject({})),
});

/** The committed document, which `make gen` makes of the route table. */
export const openApiFile = path.join(import.meta.dirname, '../openapi.json');
