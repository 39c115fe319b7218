import { writeFileSync } from 'node:fs';
import { openApiFile } from '../src/openapi.ts';
import { openApiDocument } from './document.ts';

/** Run by `make gen`: writes the OpenAPI document. */
writeFileSync(openApiFile, `${JSON.stringify(openApiDocument(), null, 2)}\n`);
