import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { consoleAssetId, consoleAssets, consolePageId, type ConsoleAsset } from '@gatehouse/contract/console';
import { documentHandler, type DocumentHandler } from './document.ts';

const own = path.join(import.meta.dirname, '../../console');
const swaggerUi = path.dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));

const sources: Record<ConsoleAsset, string> = {
  'console.css': own,
  'console.js': own,
  'gatehouse.svg': own,
  'swagger-ui.css': swaggerUi,
  'swagger-ui-bundle.js': swaggerUi,
};

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * The page loads from this origin only and sends nothing elsewhere. Swagger UI's images are `data:` URLs in its style
 * sheet. It needs no inline scripts, inline styles or `eval`.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const headers = {
  'cache-control': 'no-cache',
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};

/** `GET /api-docs` and the files that it loads, by route id. They are read once; no other file is served. */
export function consoleHandlers(): [routeId: string, handler: DocumentHandler][] {
  return [
    [consolePageId, fileHandler(path.join(own, 'index.html'))],
    ...consoleAssets.map((name): [string, DocumentHandler] => [
      consoleAssetId(name),
      fileHandler(path.join(sources[name], name)),
    ]),
  ];
}

function fileHandler(file: string): DocumentHandler {
  const type = types[path.extname(file)];
  if (type === undefined) throw new Error(`${file} has an unknown type`);
  return documentHandler(readFileSync(file), { ...headers, 'content-type': type });
}
