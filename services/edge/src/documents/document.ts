import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

export type DocumentHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** Sends the same bytes each time, or 304 to a client that has them. `headers`: those of the document, its type too. */
export function documentHandler(document: Buffer, headers: Record<string, string>): DocumentHandler {
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
