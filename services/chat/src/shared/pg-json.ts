import { toPgText } from '@gatehouse/pg/text';

/** JSON fit for PostgreSQL, whatever the texts of a prompt are. */
export function pgJson(value: unknown): string {
  return withPgJson(value).text;
}

/** The same, beside the value that it is the JSON of: nearly always the argument itself. */
export function withPgJson<Value>(value: Value): { text: string; value: Value } {
  const text = JSON.stringify(value);
  // JSON.stringify writes both NUL and lone surrogates as \u escapes, so their absence proves the text clean.
  if (!text.includes('\\u') || !/\\u(0000|d[89a-f])/.test(text)) return { text, value };
  const clean = JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'string' ? toPgText(member) : member,
  );
  return { text: clean, value: JSON.parse(clean) as Value };
}
