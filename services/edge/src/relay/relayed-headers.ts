import type { IncomingHttpHeaders } from 'node:http';

/** Enough to call the API with a key. No cookies, and nothing that names another caller. */
const relayed = ['accept', 'content-length', 'content-type', 'idempotency-key'] as const;

/** The headers of a relayed request: as if the client had sent no others. */
export function relayedHeaders(incoming: IncomingHttpHeaders): IncomingHttpHeaders {
  const names: string[] = [...relayed];
  if (/^bearer /i.test(incoming.authorization ?? '')) names.push('authorization');
  return Object.fromEntries(names.map((name) => [name, incoming[name]]));
}
