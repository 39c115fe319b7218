import { readPart } from '@gatehouse/http/body';
import { AppError } from '@gatehouse/kit/errors';
import type { RequestState, StateFormat } from '@gatehouse/dialects/state-format';
import type {
  Chain,
  Holders,
  StoredResponses,
  NamedItem,
} from '../stored-responses/stored-response-store.ts';

/** Ids of items that one request may have in place of them. */
export const maxReferences = 1_000;

/** The stored responses that a request names, without their contents. */
export interface Named {
  /** The response that it continues, and those before it. */
  chain: Chain;
  /** The responses that have its items. */
  holders: Holders;
}

interface Naming extends Named {
  body: Buffer;
  /** Is charged for what is read and for the text that goes out. */
  share: { grow(bytes: number): void };
  actor: { tenantId: string; userId: string | null };
  state: RequestState;
  format: StateFormat;
  /** The one that gets the conversation. */
  provider: string;
}

/**
 * A request with everything that it names. `ownText` has the items of its ids, as they are stored; `text` also has the earlier
 * conversation, and summaries as a provider reads them.
 */
export async function continuedText(
  responses: StoredResponses,
  { body, share, actor: { tenantId, userId }, chain, holders, state, format, provider }: Naming,
): Promise<{ ownText: Buffer; text: Buffer }> {
  const grow = (bytes: number): void => share.grow(bytes);
  const reading = { tenantId, userId, format, provider, grow };
  const edited = async (edit: () => Buffer): Promise<Buffer> => {
    const text = await readPart(body, tenantId, edit);
    share.grow(text.length);
    return text;
  };
  const withItems = (items: ReadonlyMap<number, Item>): Promise<Buffer> | Buffer =>
    items.size === 0 ? body : edited(() => format.withItems(body, items));
  const opened = (sealed: string, place: number): Buffer => {
    const param = `input[${place}].encrypted_content`;
    return format.summaryItem(responses.summaries.open(sealed, { tenantId, param }));
  };

  const named = await namedItems(state, () => responses.items(holders, reading));
  const items = new Map([...named].map(([place, item]) => [place, textOf(item)]));
  const ownText = await withItems(items);
  const summaries = new Map([...state.summaries].map(([place, sealed]) => [place, opened(sealed, place)]));
  for (const [place, item] of named) {
    const summary = typeof item === 'number' ? summaries.get(item) : item?.summary;
    if (typeof summary === 'string') summaries.set(place, opened(summary, place));
    else if (summary) summaries.set(place, summary);
  }
  const withSummaries = summaries.size === 0 ? ownText : await withItems(new Map([...items, ...summaries]));
  if (state.previousId === null) return { ownText, text: withSummaries };
  const earlier = await responses.conversation(chain, reading);
  return { ownText, text: await edited(() => format.continued(withSummaries, earlier)) };
}

/** A text, the place of another item, or none. */
type Item = Buffer | number | null;

function textOf(item: NamedItem | number | null): Item {
  return typeof item === 'object' && item !== null ? item.text : item;
}

/** The items of the ids of a request, by their places. */
async function namedItems(
  state: RequestState,
  read: () => Promise<ReadonlyMap<string, NamedItem | null>>,
): Promise<ReadonlyMap<number, NamedItem | number | null>> {
  const { references, places } = state;
  if (references.size > maxReferences)
    throw new AppError('invalid_value', `input names more than ${maxReferences} items by their ids.`, {
      param: 'input',
    });
  const stored = unknownIds(state).length === 0 ? new Map<string, never>() : await read();
  return new Map(
    [...references].map(([place, id]) => {
      const item = places.get(id) ?? stored.get(id);
      if (item !== undefined) return [place, item];
      // OpenAI's words, the same for each reason.
      throw new AppError('item_not_found', `Item with id '${id.slice(0, 200)}' not found.`, {
        param: `input[${place}].id`,
      });
    }),
  );
}

/** The ids of items in a request that stand for items which it doesn't have. */
export function unknownIds({ references, places }: Pick<RequestState, 'references' | 'places'>): string[] {
  return [...new Set(references.values())].filter((id) => !places.has(id));
}
