import type { ThinkingSigner } from '../messages/thinking-signer.ts';

/** The texts that encrypted content signs, by the type of its item; no thinking has them. */
const sealedTexts = { reasoning: '\0reasoning', compaction: '\0compaction' };

export type SealedType = keyof typeof sealedTexts;

/** The encrypted content of an item: a signature that is good for this item, and at simulators on the same port. */
export function seal(signer: ThinkingSigner, type: SealedType, itemId: string): string {
  return signer.sign(itemId, sealedTexts[type]);
}

/** Whether this simulator has sealed the content, for the item with this id. Clients may leave the id out. */
export function isGenuine(
  signer: ThinkingSigner,
  type: SealedType,
  { id, encrypted }: { id: string | null; encrypted: string },
): boolean {
  const text = sealedTexts[type];
  return id === null ? signer.verifies(encrypted, text) : encrypted === signer.sign(id, text);
}
