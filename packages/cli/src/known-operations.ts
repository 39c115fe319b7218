import document from '../../contract/openapi.json' with { type: 'json' };
import { operationsOf, type OpenApiDocument, type Operation } from './operations.ts';

/** The operations of the API's document. The build puts the list itself in the place of this file. */
export const operations: readonly Operation[] = operationsOf(document as unknown as OpenApiDocument);
