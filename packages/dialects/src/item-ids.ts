/**
 * The encrypted content of a reasoning item with the item's id, for which other APIs have no place. OpenAI checks the content
 * by the id where it comes with one (https://github.com/maximhq/bifrost/issues/5186), and Azure AI Foundry refuses the item
 * without it (https://github.com/anomalyco/opencode/issues/49574).
 */
export function withItemId(id: unknown, encrypted: string): string {
  return typeof id === 'string' && itemId.test(id) ? `${id}:${encrypted}` : encrypted;
}

/** The members of a reasoning item, by the same text. Those of before 0.4.0 have no id. */
export function encryptedOf(text: string): { id?: string | undefined; encrypted_content: string } {
  const [begin, id] = prefix.exec(text) ?? [];
  return begin === undefined
    ? { encrypted_content: text }
    : { id, encrypted_content: text.slice(begin.length) };
}

const itemId = /^rs_[\w-]{1,100}$/;
/** No base64 has a colon. */
const prefix = /^(rs_[\w-]{1,100}):/;
