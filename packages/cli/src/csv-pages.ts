import { UnreachableError, type ApiClient, type ApiRequest } from './api-client.ts';
import { piecesOf } from './download.ts';

/**
 * A list as CSV, from the page of the request to the last one, with one line of names and without marks of UTF-8. Holds one page at a time. Throws
 * `UnreachableError` for a cut-off answer, for one in another format than CSV, and when the columns change on the way.
 */
export async function* csvPages(client: ApiClient, request: ApiRequest): AsyncGenerator<Uint8Array, void> {
  let columns: string | null = null;
  for (let path: string | null = request.path; path !== null;) {
    const response: Response = await client.send({ ...request, path, headers: { accept: 'text/csv' } });
    if (response.headers.get('content-type')?.startsWith('text/csv') !== true)
      throw new UnreachableError(
        'The gateway does not answer with CSV. Is its release older than that of this command?',
      );
    const pieces: Uint8Array[] = [];
    for await (const piece of piecesOf(response)) pieces.push(piece);
    const page = withoutMark(Buffer.concat(pieces));
    const start = page.indexOf('\n') + 1;
    const names = page.subarray(0, start).toString();
    if (columns !== null && names !== columns)
      throw new UnreachableError(
        'The columns are not those of the page before: the gateway was updated. Start again.',
      );
    yield columns === null ? page : page.subarray(start);
    columns = names;
    path = nextPage(response.headers.get('link'), request.path);
  }
}

function withoutMark(page: Buffer): Buffer {
  return page.subarray(0, mark.length).equals(mark) ? page.subarray(mark.length) : page;
}

const mark = Buffer.from('\ufeff');

/** The path and query of the next page; null after the last one. Throws for a link to anything but a page of the list. */
function nextPage(link: string | null, path: string): string | null {
  const [, target] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(link ?? '') ?? [];
  if (target === undefined) return null;
  const [list, next] = [new URL(path, 'http://gateway'), new URL(target, 'http://gateway')];
  if (next.host !== list.host || next.pathname !== list.pathname)
    throw new UnreachableError('The next page is linked to another list.');
  return next.pathname + next.search;
}
