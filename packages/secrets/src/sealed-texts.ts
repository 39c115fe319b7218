import type { KeyRing } from './key-ring.ts';

/** Encrypts texts for the place where each is stored. A value copied to another place does not open there. */
export interface SealedTexts<Place> {
  seal(place: Place, text: string): Buffer;
  /** Throws for a value of another place, and for one sealed by a key no longer in the ring. */
  open(place: Place, sealed: Buffer): string;
}

/** `contextOf` must name a place by the same bytes for ever: stored values open by nothing else. */
export function sealedTexts<Place>(
  keyRing: KeyRing,
  contextOf: (place: Place) => string,
): SealedTexts<Place> {
  return {
    seal: (place, text) => keyRing.seal(Buffer.from(text), contextOf(place)),
    open: (place, sealed) => keyRing.open(sealed, contextOf(place)).toString(),
  };
}
