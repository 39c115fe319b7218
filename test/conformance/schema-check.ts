import type { Ajv } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import type { DocumentKind } from './exchanges.ts';

/** Problems of a document by a schema; empty when it is valid. */
export type SchemaCheck = (kind: DocumentKind, document: unknown) => string[];

/** Checks each kind of document by the part of `root` that `pointers` (JSON Pointers) names. */
export function schemaCheck(
  ajv: Ajv | Ajv2020,
  root: object,
  pointers: Record<DocumentKind, string>,
): SchemaCheck {
  ajv.addSchema(root, 'openai');
  return (kind, document) => {
    const validate = ajv.getSchema(`openai#${pointers[kind]}`);
    if (validate === undefined) throw new Error(`the schema has no ${pointers[kind]}`);
    if (validate(document) === true) return [];
    return [`${ajv.errorsText(validate.errors, { dataVar: kind })} in ${JSON.stringify(document)}`];
  };
}
