import { csvOf } from '@gatehouse/kit/csv';
import { csv, type Examples } from '../src/route.ts';
import { cellsOf, type Table } from '../src/table.ts';
import type { JsonObject } from './schemas.ts';

/** The media type of a list as CSV: its examples are those of JSON. */
export function csvContent(table: Table, examples: Examples): JsonObject {
  const header = table.columns.map(({ name }) => name);
  const blocks = Object.entries(examples).map(([name, { summary, response }]) => {
    const items = (response as Record<string, readonly unknown[]>)[table.items] ?? [];
    return [
      name,
      {
        summary,
        value: csvOf(
          header,
          items.map((item) => cellsOf(table, item)),
        ),
      },
    ];
  });
  const schema = {
    type: 'string',
    description: 'Lines of CSV (RFC 4180) after one with the names of columns, for `Accept: text/csv`',
  };
  return { [csv]: { schema, examples: Object.fromEntries(blocks) as JsonObject } };
}
