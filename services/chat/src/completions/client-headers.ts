import type { IncomingMessage } from 'node:http';
import type { Dialect } from '../dialects/dialect.ts';

/** Those of a client's headers that providers of its dialect's API get. */
export function passedHeaders({ headers }: IncomingMessage, dialect: Dialect): Record<string, string> {
  const passed = dialect.passedHeaders.map((name) => [name, headers[name]] as const);
  return Object.fromEntries(
    passed.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** Model ids come from the operator's file and may hold characters that a header can't. */
export function headerText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text);
}
