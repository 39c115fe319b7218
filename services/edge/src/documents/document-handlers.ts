import {
  relayId,
  consoleAssetId,
  consoleAssets,
  consolePageId,
  type ConsoleAsset,
} from '@gatehouse/contract/console';
import { routes } from '@gatehouse/contract/routes';
import { sendJson } from '@gatehouse/http/reply';
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { protocolVersion, type Health } from '@gatehouse/contract/health';
import { version } from '@gatehouse/kit/version';
import { readFileSync, existsSync } from 'node:fs';
import { openApiFile } from '@gatehouse/contract/openapi';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { isSafePath } from '@gatehouse/contract/match';
import { pageFilesId, pagesEntryId, pagesFolderId, pagesPath } from '@gatehouse/contract/pages';
import { pathOf, unknownPath } from '../shared/target.ts';

export type DocumentHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** Sends the same bytes each time, or 304 to a client with them. `headers`: the document's, its type too. */
function documentHandler(document: Buffer, headers: Record<string, string>): DocumentHandler {
  const etag = `"${createHash('sha256').update(document).digest('base64url')}"`;
  const { 'content-type': type, ...others } = headers;
  return (request, response) => {
    if (isCurrent(request.headers['if-none-match'], etag)) {
      response.writeHead(304, { ...others, etag }).end();
      return;
    }
    response.writeHead(200, { ...others, etag, 'content-type': type, 'content-length': document.length });
    response.end(document);
  };
}

/** Whether `If-None-Match` names the tag, by the weak comparison of RFC 9110 §13.1.2. */
function isCurrent(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}

/** Documents served by the edge itself, by route id. Throws when a route of the edge has no handler. */
export function documentHandlers(isReady: () => boolean): ReadonlyMap<string, DocumentHandler> {
  const handlers = new Map<string, DocumentHandler>([
    [
      'health',
      (_request, response) => {
        const status = isReady() ? 'ok' : 'unavailable';
        const body: Health = { status, protocol: protocolVersion, version };
        sendJson(response, status === 'ok' ? 200 : 503, body);
      },
    ],
    ['hello', (_request, response) => sendJson(response, 200, {})],
    ['openapi', documentHandler(readFileSync(openApiFile), openApiHeaders)],
    ...consoleHandlers(),
    ...pageHandlers(),
  ]);
  const missing = routes.find(({ id, service }) => service === 'edge' && id !== relayId && !handlers.has(id));
  if (missing !== undefined) throw new Error(`the edge has no handler for ${missing.id}`);
  return handlers;
}

/** The sources to which forms of a document may send. */
type FormAction = "'none'" | "'self'";

/**
 * Headers of the documents and files loaded by browsers. A document loads from this origin only and sends nothing
 * elsewhere; images may be `data:` URLs in its style sheet. It needs no inline scripts, inline styles or `eval`.
 */
function browserHeaders(formAction: FormAction): Record<string, string> {
  return {
    'cache-control': 'no-cache',
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "base-uri 'none'",
      `form-action ${formAction}`,
      "frame-ancestors 'none'",
    ].join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
  };
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The content type of a file by the end of its name. */
function contentTypeOf(file: string): string {
  const type = types[/\.\w+$/.exec(file)?.[0] ?? ''];
  if (type === undefined) throw new Error(`${file} has an unknown type`);
  return type;
}

/** `GET /openapi.json`: the committed file, byte for byte. It is read once. */
const openApiHeaders = { 'content-type': 'application/json', 'cache-control': 'public, max-age=300' };

const consoleFolder = path.join(import.meta.dirname, '../../console');
const swaggerUi = path.dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));

const sources: Record<ConsoleAsset, string> = {
  'console.css': consoleFolder,
  'console.js': consoleFolder,
  'gatehouse.svg': consoleFolder,
  'swagger-ui.css': swaggerUi,
  'swagger-ui-bundle.js': swaggerUi,
};

const consoleHeaders = browserHeaders("'none'");

/** `GET /api-docs` and its files, by route id. They are read once; no other file is served. */
function consoleHandlers(): [routeId: string, handler: DocumentHandler][] {
  return [
    [consolePageId, fileHandler(path.join(consoleFolder, 'index.html'))],
    ...consoleAssets.map((name): [string, DocumentHandler] => [
      consoleAssetId(name),
      fileHandler(path.join(sources[name], name)),
    ]),
  ];
}

function fileHandler(file: string): DocumentHandler {
  return documentHandler(readFileSync(file), { ...consoleHeaders, 'content-type': contentTypeOf(file) });
}

const built = path.join(
  path.dirname(fileURLToPath(import.meta.resolve('@gatehouse/web/package.json'))),
  'dist',
);

/** The person logs out by a form. */
const pageHeaders = browserHeaders("'self'");

/** The name of an asset has the hash of its content. */
const assetHeaders = { ...pageHeaders, 'cache-control': 'public, max-age=31536000, immutable' };

/** The pages and their assets, by route id. The files are read once; no other file is served. */
function pageHandlers(): [routeId: string, handler: DocumentHandler][] {
  return [
    [pagesEntryId, leadToPages],
    [pagesFolderId, leadToPages],
    [pageFilesId, filesHandler()],
  ];
}

function leadToPages(...[, response]: Parameters<DocumentHandler>): void {
  response.writeHead(303, { location: pagesPath, 'content-length': '0' }).end();
}

/** Every path but those of assets is a view of the one document, which routes by itself. */
function filesHandler(): DocumentHandler {
  const index = path.join(built, 'index.html');
  if (!existsSync(index)) throw new Error('The pages are not built: run `make pages`.');
  const document = readFileSync(index);
  const view = compressed(document, { ...pageHeaders, 'content-type': contentTypeOf(index) });
  const assets = new Map(
    Array.from(document.toString().matchAll(/"\/app\/(assets\/[\w.-]+)"/g), ([, name = '']) => {
      const asset = readFileSync(path.join(built, name));
      return [name, compressed(asset, { ...assetHeaders, 'content-type': contentTypeOf(name) })];
    }),
  );
  return (request, response) => {
    const pagePath = pathOf(request.url ?? '').slice(pagesPath.length);
    const handler = pagePath.startsWith('assets/') ? assets.get(pagePath) : view;
    if (handler === undefined || !isSafePath(`/${pagePath}`)) throw unknownPath(request);
    handler(request, response);
  };
}

/** Compressed once for the clients with gzip. */
function compressed(document: Buffer, headers: Record<string, string>): DocumentHandler {
  const varying = { ...headers, vary: 'accept-encoding' };
  const plain = documentHandler(document, varying);
  const zipped = documentHandler(gzipSync(document, { level: 9 }), {
    ...varying,
    'content-encoding': 'gzip',
  });
  return (request, response) =>
    takesGzip(request.headers['accept-encoding']) ? zipped(request, response) : plain(request, response);
}

/** Whether `Accept-Encoding` names gzip with a weight above 0 (RFC 9110 §12.5.3). */
function takesGzip(acceptEncoding: string | string[] | undefined): boolean {
  const codings = String(acceptEncoding ?? '').split(',');
  return codings.some((coding) => /^\s*gzip\s*(;\s*q=(0\.0*[1-9]\d*|1(\.0*)?)\s*)?$/i.test(coding));
}
