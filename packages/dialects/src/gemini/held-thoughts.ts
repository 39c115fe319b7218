import type { Fields } from '@gatehouse/kit/fields';
import type { ReasoningSignature } from '../translation/conversation.ts';
import type { SignedThought } from '../translation/signed-reasoning.ts';
import { markedThoughts } from '../translation/signatures.ts';
import { maxReasoningParts, maxSignatureChars, maxSignedBytes } from '../bounds.ts';

/**
 * The thoughts of an answer on their way to the part behind them, which gets their signatures, as in Google's own
 * answers (https://ai.google.dev/gemini-api/docs/thought-signatures). Their texts are part of this signature: Gemini
 * CLI sends no thought back, and changes the ids of calls
 * (https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/core/geminiChat.ts).
 */
export class HeldThoughts {
  #thoughts: SignedThought[] = [];
  /** The text of the open thought. */
  #pieces: string[] = [];
  #bytes = 0;

  /** More of the open thought. */
  add(text: string): void {
    this.#bytes += Buffer.byteLength(text);
    if (this.#isFull) this.#forget();
    else this.#pieces.push(text);
  }

  /** Ends the open thought: one without a signature can't go back. */
  end(signature: ReasoningSignature | null): void {
    const text = this.#pieces.join('');
    this.#pieces = [];
    if (signature === null) {
      this.#bytes -= Buffer.byteLength(text);
      return;
    }
    this.#bytes += Buffer.byteLength(signature.text);
    if (this.#isFull) this.#forget();
    else this.#thoughts.push({ text, signature });
  }

  /** A part with the signatures of the thoughts before it. */
  signed(part: Fields): Fields {
    if (this.isEmpty) return part;
    const thoughtSignature = markedThoughts(this.#thoughts);
    this.#thoughts = [];
    return thoughtSignature.length > maxSignatureChars ? part : { ...part, thoughtSignature };
  }

  get isEmpty(): boolean {
    return this.#thoughts.length === 0;
  }

  get #isFull(): boolean {
    return this.#bytes > maxSignedBytes || this.#thoughts.length >= maxReasoningParts;
  }

  #forget(): void {
    this.#thoughts = [];
    this.#pieces = [];
  }
}
