import { csv, type Route } from '@gatehouse/contract/route';
import { cellsOf, type Table } from '@gatehouse/contract/table';
import { csvLine, csvMark, type Cell } from '@gatehouse/kit/csv';
import { isLongAsJson } from '@gatehouse/kit/json-size';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import type { Page } from './pagination.ts';
import type { Written } from './reply.ts';

/**
 * Characters after which a page goes on in another turn of the event loop: measured 6 ms for pages of 4 MiB. A single item
 * may have as much: its cells and its line are turns of their own, of up to 35 ms each, as the item takes as JSON.
 */
const turnChars = 64 * 1024;

/**
 * Whether a client wants CSV (RFC 9110 §12.5.1): it names the type, with no lower weight than JSON. Clients reading
 * JSON may list all types of the OpenAPI document, so JSON goes first where both are named with the same weight.
 */
export function prefersCsv(accept: string | undefined): boolean {
  if (accept === undefined || !/csv/i.test(accept)) return false;
  const weights = new Map(accept.toLowerCase().split(',').map(weightOf));
  const json = weights.get('application/json');
  const others = weights.get('application/*') ?? weights.get('*/*') ?? 0;
  const weight = weights.get(csv) ?? 0;
  return weight > 0 && (json === undefined ? weight >= others : weight > json);
}

function weightOf(range: string): [type: string, weight: number] {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
  const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
  return [type, Number.isNaN(weight) ? 0 : weight];
}

/** A page of a list, as handlers return it. */
export type ListPage = Readonly<Record<string, unknown>> & Pick<Page<unknown>, 'has_more' | 'next_cursor'>;

/**
 * A page as CSV, after a line of names, each with the mark of UTF-8 if the first has it. The next page is a link (RFC 8288), since CSV has no place for a cursor. A long
 * page is written in several turns of its tenant at the event loop.
 */
export async function csvPage(
  table: Table,
  page: ListPage,
  { route, url, hasMark, tenantId }: { route: Route; url: string; hasMark: boolean; tenantId: string | null },
): Promise<Written> {
  const items = page[table.items] as readonly unknown[];
  const { has_more: hasMore, next_cursor: cursor } = page;
  const name = route.id.replace(/\.(list|follow)$/, '').replaceAll('.', '-');
  const headers = {
    'content-type': `${csv}; charset=utf-8`,
    'content-disposition': `attachment; filename="${name}.csv"`,
    'x-gateway-rows': String(items.length),
    ...(hasMore && cursor !== null && { link: `<${withCursor(url, cursor)}>; rel="next"` }),
  };
  const names = csvLine(table.columns.map((column) => column.name));
  const pieces: Buffer[] = [Buffer.from(hasMark ? csvMark + names : names)];
  const isLong = isLongAsJson(items, turnChars);
  const turn = <Result>(piece: () => Result) => (isLong ? runCooperatively(tenantId, piece) : piece());
  for (let next = 0; next < items.length;) {
    const rows = await turn(() => rowsFrom(table, items, next));
    next += rows.length;
    pieces.push(await turn<Buffer>(() => Buffer.from(rows.map(csvLine).join(''))));
  }
  return { text: Buffer.concat(pieces), headers };
}

/** The next items to be written at once; one at least. */
function rowsFrom(table: Table, items: readonly unknown[], from: number): Cell[][] {
  const rows: Cell[][] = [];
  for (let chars = 0; chars < turnChars && from + rows.length < items.length;) {
    const cells = cellsOf(table, items[from + rows.length]);
    for (const cell of cells) chars += typeof cell === 'string' ? cell.length : 1;
    rows.push(cells);
  }
  return rows;
}

/** The same list from another item on. */
function withCursor(url: string, cursor: string): string {
  const next = new URL(url, 'http://gateway');
  next.searchParams.set('cursor', cursor);
  return next.pathname + next.search;
}
