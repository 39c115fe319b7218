import type { TextChannel } from '@gatehouse/dialects/text-view/text-channel';
import type { PlaceholderScan, RestoredPiece } from '@gatehouse/guardrails/placeholders/placeholder-scan';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import type { PassingText } from './streamed-text.ts';

/** A text of a streamed answer, with values in place of their placeholders. */
export class RestoredText implements PassingText {
  readonly blocked = null;
  readonly #channel: TextChannel;
  readonly #scan: PlaceholderScan;
  #cleared = 0;

  constructor(channel: TextChannel, scan: PlaceholderScan) {
    this.#channel = channel;
    this.#scan = scan;
  }

  *push(piece: string): Steps<void> {
    this.#add(yield* this.#scan.push(piece));
  }

  *end(): Steps<void> {
    this.#add(this.#scan.end());
    yield;
  }

  passes(end: number): boolean {
    return end <= this.#cleared;
  }

  #add({ cleared, values }: RestoredPiece): void {
    for (const value of values) this.#channel.replace(value);
    this.#cleared = cleared;
  }
}
