import { readFileSync } from 'node:fs';
import { openApiFile } from '@gatehouse/contract/openapi';
import { documentHandler, type DocumentHandler } from './document.ts';

/** `GET /openapi.json`: the committed file, byte for byte. It is read once. */
export function openApiHandler(): DocumentHandler {
  return documentHandler(readFileSync(openApiFile), {
    'content-type': 'application/json',
    'cache-control': 'public, max-age=300',
  });
}
