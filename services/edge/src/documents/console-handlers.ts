import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { consoleAssetId, consoleAssets, consolePageId, type ConsoleAsset } from '@gatehouse/contract/console';
import { browserHeaders, contentTypeOf } from './browser-headers.ts';
import { documentHandler, type DocumentHandler } from './document.ts';

const consoleFolder = path.join(import.meta.dirname, '../../console');
const swaggerUi = path.dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));

const sources: Record<ConsoleAsset, string> = {
  'console.css': consoleFolder,
  'console.js': consoleFolder,
  'gatehouse.svg': consoleFolder,
  'swagger-ui.css': swaggerUi,
  'swagger-ui-bundle.js': swaggerUi,
};

const headers = browserHeaders("'none'");

/** `GET /api-docs` and the files that it loads, by route id. They are read once; no other file is served. */
export function consoleHandlers(): [routeId: string, handler: DocumentHandler][] {
  return [
    [consolePageId, fileHandler(path.join(consoleFolder, 'index.html'))],
    ...consoleAssets.map((name): [string, DocumentHandler] => [
      consoleAssetId(name),
      fileHandler(path.join(sources[name], name)),
    ]),
  ];
}

function fileHandler(file: string): DocumentHandler {
  return documentHandler(readFileSync(file), { ...headers, 'content-type': contentTypeOf(file) });
}
