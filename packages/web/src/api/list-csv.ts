import { ApiError } from './api-error.ts';
import { downloadOf, send, urlOf, type Download } from './call.ts';
import type { CsvName, InputOf } from './endpoint-types.ts';

/** A list as a file, as far as a browser holds it. */
export interface ListFile extends Download {
  rows: number;
  /** Whether the list goes on after the rows of the file. */
  hasMore: boolean;
}

interface CsvProgress {
  /** Is called after each page with the rows so far. */
  onRows: (rows: number) => void;
  signal: AbortSignal;
}

/** Reads all pages of a list as CSV, up to the bounds of a file. Throws an `ApiError`. */
export async function listAsCsv<Name extends CsvName>(
  name: Name,
  { params, query }: InputOf<Name>,
  { onRows, signal }: CsvProgress,
): Promise<ListFile> {
  const [method = '', path = ''] = name.split(' ');
  const first = urlOf(path, { ...params }, { ...query, limit: '200' });
  return joinPages(first, (url) => send(url, { method, accept: 'text/csv', signal }), { onRows });
}

/** The bounds of a file for spreadsheets. */
const mostHeld = { rows: 100_000, bytes: 50 * 2 ** 20 };

/** Bytes enough for the names of all columns, which are ASCII. */
const longestNames = 16 * 1024;
const lineFeed = 0x0a;

/** Joins pages along their links (RFC 8288) into one file with one line of names. */
export async function joinPages(
  first: string,
  read: (url: string) => Promise<Response>,
  { onRows, most = mostHeld }: Pick<CsvProgress, 'onRows'> & { most?: typeof mostHeld },
): Promise<ListFile> {
  const parts: Blob[] = [];
  let [name, columns, rows, bytes] = ['', '', 0, 0];
  let url: string | undefined = first;
  while (url !== undefined && rows < most.rows && bytes < most.bytes) {
    const response = await read(url);
    if (response.headers.get('content-type')?.startsWith('text/csv') !== true)
      throw new ApiError(
        'The list did not come as CSV, since the gateway is being updated. Try again later.',
      );
    const page = await downloadOf(response);
    const head = new Uint8Array(await page.content.slice(0, longestNames).arrayBuffer());
    const start = head.indexOf(lineFeed) + 1;
    // Without the mark of UTF-8, which stays at the begin of the file.
    const names = new TextDecoder().decode(head.subarray(0, start));
    if (parts.length > 0 && names !== columns)
      throw new ApiError('The columns have changed on the way, since the gateway was updated. Try again.');
    parts.push(parts.length === 0 ? page.content : page.content.slice(start));
    [name, columns] = [page.name, names];
    rows += Number(response.headers.get('x-gateway-rows'));
    bytes += page.content.size;
    onRows(rows);
    [, url] = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  }
  const content = new Blob(parts, { type: 'text/csv' });
  return { content, name, rows, hasMore: url !== undefined };
}
