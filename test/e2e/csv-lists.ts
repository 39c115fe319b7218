import { expect } from '@jest/globals';
import { parse } from 'csv-parse/sync';

interface JsonPage {
  items: Record<string, unknown>[];
  next: string | null;
}

/** Compares all pages of a list as CSV, which links lead through, with those of JSON. Returns the number of rows. */
export async function expectSameAsCsv(url: string, headers: Record<string, string>): Promise<number> {
  const first = new URL(url);
  first.searchParams.set('limit', '2');
  // A cursor of traces has the period, which ends now by default: another now in each of the two formats.
  if (first.pathname === '/v1/traces') first.searchParams.set('to', new Date().toISOString());
  let rows = 0;
  for (let target: URL | null = first; target !== null;) {
    const json = await jsonPage(target, headers);
    const csv = await fetch(target, { headers: { ...headers, accept: 'text/csv' } });
    expect([csv.status, csv.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(csv.headers.get('vary')).toContain('Accept');
    expect(csv.headers.get('content-disposition')).toMatch(/^attachment; filename="[a-z-]+\.csv"$/);
    expect(csv.headers.get('x-gateway-rows')).toBe(String(json.items.length));
    const [names = [], ...lines] = parse(await csv.text());
    expect(names.length).toBeGreaterThan(2);
    // An empty list of texts is an empty text, and one of objects is JSON.
    const shown = lines.map((fields) => fields.map((field) => (field === '[]' ? '' : field)));
    expect(shown).toEqual(json.items.map((item) => names.map((name) => fieldOf(item, name))));
    for (const item of json.items) expect(withoutColumn(item, names)).toEqual([]);
    const [, link] = /^<(.+)>; rel="next"$/.exec(csv.headers.get('link') ?? '') ?? [];
    target = link === undefined ? null : new URL(link, target);
    expect(target?.searchParams.get('cursor') ?? null).toBe(json.next);
    rows += json.items.length;
  }
  return rows;
}

async function jsonPage(url: URL, headers: Record<string, string>): Promise<JsonPage> {
  const response = await fetch(url, { headers });
  const {
    has_more: hasMore,
    next_cursor: cursor,
    ...others
  } = (await response.json()) as { has_more: boolean; next_cursor: string | null };
  const items = Object.values(others).find((member) => Array.isArray(member)) as Record<string, unknown>[];
  return { items, next: hasMore ? cursor : null };
}

function fieldOf(item: unknown, name: string): string {
  const value = name
    .split('.')
    .reduce((inner, part) => (inner as Record<string, unknown> | null | undefined)?.[part], item);
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const isList = Array.isArray(value) && value.every((member) => typeof member !== 'object');
  const text = typeof value === 'string' ? value : isList ? value.join('; ') : JSON.stringify(value);
  return /^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text;
}

/** The members of an item, at any level, that no column has. */
function withoutColumn(value: unknown, names: readonly string[], path = ''): string[] {
  if (names.includes(path)) return [];
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    // Null stands for all members of what is not there.
    return value === null && names.some((name) => name.startsWith(`${path}.`)) ? [] : [path];
  return Object.entries(value).flatMap(([name, member]) =>
    withoutColumn(member, names, path === '' ? name : `${path}.${name}`),
  );
}
