import type { RequestState, StateFormat } from '@gatehouse/dialects/state-format';
import { readPart } from '@gatehouse/http/body';
import { AppError } from '@gatehouse/kit/errors';
import { maxReferences } from '../bounds.ts';
import type {
  Chain,
  Holders,
  NamedItem,
  StoredResponses,
} from '../stored-responses/stored-response-store.ts';

/** A request with items and responses it names. */
interface Naming {
  /** The continued response, and those before it. */
  chain: Chain;
  /** The responses with its items. */
  holders: Holders;
  body: Buffer;
  /** Is charged for everything read and for the outgoing text. */
  share: { grow(bytes: number): void };
  actor: { tenantId: string; userId: string | null };
  state: RequestState;
  format: StateFormat;
  /** The receiver of the conversation. */
  provider: string;
}

/**
 * A request with everything it names. `ownText` has the items of its ids, as stored; `text` also has the earlier
 * conversation, and summaries as a provider reads them. `leftOut`: the places of ids without an item for this provider.
 */
export async function continuedText(
  responses: StoredResponses,
  { body, share, actor: { tenantId, userId }, chain, holders, state, format, provider }: Naming,
): Promise<{ ownText: Buffer; text: Buffer; leftOut: ReadonlySet<number> }> {
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
  const leftOut = new Set([...items].flatMap(([place, item]) => (item === null ? [place] : [])));
  if (leftOut.size === state.count && leftOut.size > 0 && state.previousId === null) throw notFound(state);
  const ownText = await withItems(items);
  const summaries = new Map([...state.summaries].map(([place, sealed]) => [place, opened(sealed, place)]));
  for (const [place, item] of named) {
    const summary = typeof item === 'number' ? summaries.get(item) : item?.summary;
    if (typeof summary === 'string') summaries.set(place, opened(summary, place));
    else if (summary) summaries.set(place, summary);
  }
  const withSummaries = summaries.size === 0 ? ownText : await withItems(new Map([...items, ...summaries]));
  if (state.previousId === null) return { ownText, text: withSummaries, leftOut };
  const earlier = await responses.conversation(chain, reading);
  return { ownText, text: await edited(() => format.continued(withSummaries, earlier)), leftOut };
}

/** A text, the place of another item, or null for neither. */
type Item = Buffer | number | null;

function textOf(item: NamedItem | number | null): Item {
  return typeof item === 'object' && item !== null ? item.text : item;
}

/** The items of the ids of a request, by their places; null for ids without an item for its provider. */
async function namedItems(
  state: RequestState,
  read: () => Promise<ReadonlyMap<string, NamedItem | null>>,
): Promise<ReadonlyMap<number, NamedItem | number | null>> {
  const { references, places } = state;
  const thoughts = newestThoughts(state);
  if (references.size > maxReferences)
    throw new AppError('invalid_value', `input names more than ${maxReferences} items by their ids.`, {
      param: 'input',
    });
  const isRead = thoughts.length > 0 || unknownIds(state).length > 0;
  const stored = isRead ? await read() : new Map<string, never>();
  return new Map([
    ...[...references].map(([place, id]) => [place, places.get(id) ?? stored.get(id) ?? null] as const),
    ...thoughts.map(([place, id]) => [place, stored.get(id) ?? null] as const),
  ]);
}

/** Places of reasoning items to be completed, and their ids; a request has no more of them than of other ids. */
export function newestThoughts({ thoughts }: Pick<RequestState, 'thoughts'>): (readonly [number, string])[] {
  return [...thoughts].slice(-maxReferences);
}

/** For a request of nothing but ids without an item. OpenAI's words, the same for each reason. */
function notFound({ references, thoughts }: RequestState): AppError {
  const [[place, id] = [0, '']] = [...references, ...thoughts];
  return new AppError('item_not_found', `Item with id '${id.slice(0, 200)}' not found.`, {
    param: `input[${place}].id`,
  });
}

/** The client's names of the items left out. */
export function leftOutNames(leftOut: ReadonlySet<number>, { references }: RequestState): string[] {
  return [
    ...new Set(
      [...leftOut].map((place) => (references.has(place) ? 'input.item_reference' : 'input.reasoning')),
    ),
  ];
}

/** Ids in place of items, without those left out: the response has no such item. */
export function idsBut(leftOut: ReadonlySet<number>, { references, thoughts }: RequestState): string[] {
  return [...references, ...thoughts].filter(([place]) => !leftOut.has(place)).map(([, id]) => id);
}

/** Ids in a request for items missing in it. */
export function unknownIds({ references, places }: Pick<RequestState, 'references' | 'places'>): string[] {
  return [...new Set(references.values())].filter((id) => !places.has(id));
}
