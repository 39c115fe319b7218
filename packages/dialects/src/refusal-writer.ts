import type { Usage } from './usage/usage.ts';

/** Ends choices of a stream with a refusal of the gateway, in the words of the API. */
export interface RefusalWriter {
  /** Notes a frame as it arrives. */
  see(frame: Buffer): void;
  /** Notes a frame as the client gets it. */
  left(frame: Buffer): void;
  /** The choices without an end. Without one, nothing but the end of the stream follows. */
  readonly open: readonly number[];
  /** The frames that end a choice. `message`: a sentence for its reader. Must be called once for a choice. */
  refuse(choice: number, message: string): Buffer[];
  /** Whether a frame only begins a text. It is left out with a refused one: clients send empty texts back, and get errors. */
  isBeginning(frame: Buffer): boolean;
  /** A frame without the ended choices; null if nothing is left of it. */
  without(frame: Buffer): Buffer | null;
  /** The last frames, once no choice is open. `isAsked`: whether the client asked for the usage of a stream. */
  endFrames(usage: Usage | null, isAsked: boolean): Buffer[];
}
