/** A message waiting for an answer. */
export interface WaitingMessage {
  id: string;
  /** The acting user. */
  userId: string;
  senderName: string | null;
  textBytes: number;
  hasAttachment: boolean;
  /** How often what it is about was sent on by a gateway. */
  hops: number;
  /** How long ago it arrived. */
  ageS: number;
}

/** A sender's messages within this time of the first are one turn, up to these bounds. */
export const burst = { seconds: 2, messages: 20, bytes: 32_000 };

/**
 * The messages of the next turn, from the waiting ones in the order of their conversation: those written by the sender
 * of the first one within the time of a burst. More may arrive for `readyInS`.
 */
export function nextBurst(waiting: readonly WaitingMessage[]): {
  messages: WaitingMessage[];
  readyInS: number;
} {
  const [first] = waiting;
  if (first === undefined) return { messages: [], readyInS: 0 };
  const fromSender = waiting.filter(({ userId }) => userId === first.userId);
  const began = Math.max(...fromSender.map(({ ageS }) => ageS));
  const messages: WaitingMessage[] = [];
  let bytes = 0;
  for (const message of fromSender) {
    const isLate = began - message.ageS > burst.seconds;
    const isFull = messages.length >= burst.messages || bytes + message.textBytes > burst.bytes;
    if (messages.length > 0 && (isLate || isFull)) {
      // A message beyond the bounds ends the burst; a late one is of the next.
      if (isFull) return { messages, readyInS: 0 };
      continue;
    }
    messages.push(message);
    bytes += message.textBytes;
  }
  return { messages, readyInS: Math.max(0, burst.seconds - began) };
}
