import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { messageText, spokenText } from './message-text.ts';

/**
 * Finds what each chunk says of a choice. Some servers send messages in place of deltas, in pieces or at once, and some
 * the whole message again behind the deltas: of that, only what the deltas left out is new.
 */
export class SpokenChoice {
  #hasDeltas = false;
  #hasContent = false;
  #hasCalls = false;

  /** Returns what is new in a choice of a chunk; null where it says nothing. */
  newIn({ delta, message }: Fields): Fields | null {
    const piece = isFields(delta) ? delta : null;
    if (piece !== null) this.#note(piece);
    if (!isFields(message)) return piece;
    if (!this.#hasDeltas) return message;
    const { content, tool_calls: calls, function_call: old } = message;
    const missing = {
      ...(!this.#hasContent && { content }),
      ...(!this.#hasCalls && { tool_calls: calls, function_call: old }),
    };
    this.#note(missing);
    return { ...piece, ...missing };
  }

  #note(piece: Fields): void {
    const { content, tool_calls: calls, function_call: old } = piece;
    this.#hasContent ||= typeof content === 'string' ? content !== '' : spokenText(content) !== '';
    this.#hasCalls ||= isFields(calls) || isFields(old) || listOf(calls).length > 0;
    this.#hasDeltas ||= this.#hasContent || this.#hasCalls || messageText(piece) !== '';
  }
}
