import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { isSafePath } from '@gatehouse/contract/match';
import { pageFilesId, pagesEntryId, pagesFolderId, pagesPath } from '@gatehouse/contract/pages';
import { pathOf, unknownPath } from '../shared/target.ts';
import { browserHeaders, contentTypeOf } from './browser-headers.ts';
import { documentHandler, type DocumentHandler } from './document.ts';

const built = path.join(
  path.dirname(fileURLToPath(import.meta.resolve('@gatehouse/web/package.json'))),
  'dist',
);

/** The person logs out by a form. */
const headers = browserHeaders("'self'");

/** The name of an asset has the hash of its content. */
const assetHeaders = { ...headers, 'cache-control': 'public, max-age=31536000, immutable' };

/** The pages and their assets, by route id. The files are read once; no other file is served. */
export function pageHandlers(): [routeId: string, handler: DocumentHandler][] {
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
  const view = compressed(document, { ...headers, 'content-type': contentTypeOf(index) });
  const assets = new Map(
    Array.from(document.toString().matchAll(/"\/app\/(assets\/[\w.-]+)"/g), ([, name = '']) => {
      const asset = readFileSync(path.join(built, name));
      return [name, compressed(asset, { ...assetHeaders, 'content-type': contentTypeOf(name) })];
    }),
  );
  return (request, response) => {
    const pagePath = pathOf(request.url ?? '').slice(pagesPath.length);
    const handler = pagePath.startsWith('assets/') ? assets.get(pagePath) : view;
    if (handler === undefined || !isSafePath(`/${pagePath}`)) throw unknownPath();
    handler(request, response);
  };
}

/** Compressed once for the clients that take gzip. */
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
