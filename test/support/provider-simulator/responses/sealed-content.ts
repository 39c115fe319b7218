import type { ThinkingSigner } from '../messages/thinking-signer.ts';

/** The texts that encrypted content signs, by the type of its item; no thinking has them. */
const sealedTexts = { reasoning: '\0reasoning', compaction: '\0compaction' };

type SealedType = keyof typeof sealedTexts;

/** The encrypted content of an item: a signature that is good for this item, and at simulators on the same port. */
export function seal(signer: ThinkingSigner, type: SealedType, itemId: string): string {
  return signer.sign(itemId, sealedTexts[type]);
}
