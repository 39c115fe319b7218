import type { StreamPlace } from '@gatehouse/contract/dialects';
import type { StreamFollower } from '../dialect.ts';
import { eventOf, isHead, responseIn } from './events.ts';

type Begun = Pick<StreamPlace, 'id' | 'createdAt' | 'model'>;

/** Keeps the beginning of a response, in short, and the number of its last event, which an error goes on from. */
export class ResponseFollower implements StreamFollower {
  #begun: Begun | null | undefined;
  #last = -1;

  see(frames: readonly Buffer[]): void {
    for (const frame of frames) {
      const number = numberIn(frame);
      if (number === null) continue;
      this.#last = number;
      // The first event alone: no other names the response.
      if (this.#begun === undefined) this.#begun = begunIn(frame);
    }
  }

  get place(): StreamPlace | null {
    return this.#begun ? { ...this.#begun, next: this.#last + 1 } : null;
  }
}

const numberName = Buffer.from('"sequence_number":');
const maxDigits = 16;

/** The number of an event; null for comments and events of the gateway. Parsing each event would cost 2 µs more. */
function numberIn(frame: Buffer): number | null {
  const at = frame.indexOf(numberName);
  if (at < 0) return null;
  const from = at + numberName.length;
  const number = Number.parseInt(frame.toString('latin1', from, from + maxDigits), 10);
  return Number.isNaN(number) ? null : number;
}

function begunIn(frame: Buffer): Begun | null {
  const event = eventOf(frame);
  if (event === null || !isHead(event.type)) return null;
  const { id, created_at: createdAt, model } = responseIn(event.fields);
  if (typeof id !== 'string') return null;
  return {
    id,
    createdAt: typeof createdAt === 'number' ? createdAt : 0,
    model: typeof model === 'string' ? model : '',
  };
}
