import type { DialectName } from '@gatehouse/contract/dialects';
import type { Fields } from '@gatehouse/kit/fields';
import type { Place } from './plan.ts';
import type { Sending } from './raw-clients.ts';
import type { Reply, Turn } from './turns.ts';

/** The gateway for one client. */
export interface Line {
  url: string;
  key: string;
  stream: boolean;
  /** As the global one. It records the body, for reports. */
  fetch: typeof fetch;
}

/** Sends a request, and returns the body of the answer or the events of its stream. Rejects for an error. */
export type Transport = (sending: Sending) => Promise<Fields | readonly Fields[]>;

/** A conversation of a client: it stores what it gets, and sends all of it back. */
export interface Client {
  /** Sends a turn, and reads its answer. Rejects for an error. */
  say: (turn: Turn, place: Place) => Promise<Reply>;
}

/** A kind of client. */
export interface ClientKind {
  name: string;
  dialect: DialectName;
  /** Whether it sends the fields of its dialect as they are in `raw-clients.ts`. */
  isRaw?: true;
  open: (line: Line) => Client;
}
