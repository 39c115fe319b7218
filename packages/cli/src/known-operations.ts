import { readFileSync } from 'node:fs';
import { operationsOf, type OpenApiDocument, type Operation } from './operations.ts';

const document = new URL('../../contract/openapi.json', import.meta.url);

/** The operations of the API's document. The build puts the list itself in the place of this file. */
export const operations: readonly Operation[] = operationsOf(
  JSON.parse(readFileSync(document, 'utf8')) as OpenApiDocument,
);
