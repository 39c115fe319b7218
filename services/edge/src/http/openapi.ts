import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { openApiFile } from '@gatehouse/contract/openapi';

/** `GET /openapi.json`: the committed document, byte for byte, read once. */
export function openApiHandler(): (request: IncomingMessage, response: ServerResponse) => void {
  const document = readFileSync(openApiFile);
  const etag = `"${createHash('sha256').update(document).digest('base64url')}"`;
  const headers = { etag, 'cache-control': 'public, max-age=300' };
  return (request, response) => {
    if (isCurrent(request.headers['if-none-match'], etag)) {
      response.writeHead(304, headers).end();
      return;
    }
    response.writeHead(200, {
      ...headers,
      'content-type': 'application/json',
      'content-length': document.length,
    });
    response.end(document);
  };
}

/** Whether `If-None-Match` names the tag, by the weak comparison of RFC 9110 §13.1.2. */
function isCurrent(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}
