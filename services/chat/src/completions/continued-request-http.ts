import { readPart } from '@gatehouse/http/body';
import { AppError } from '@gatehouse/kit/errors';
import type { TenantPrincipal } from '@gatehouse/identity/principal';
import { startingAt, type Target } from '../catalogue/target.ts';
import type { CompletionRequest, Dialect } from '@gatehouse/dialects/dialect';
import type { RequestState, StateFormat } from '@gatehouse/dialects/state-format';
import type { Holders, KeptResponses, NamedItem } from '../kept-responses/kept-response-store.ts';
import type { KeepAnswer } from '../runs/run.ts';
import type { LargeWork } from '../shared/large-work.ts';
import type { Share } from '@gatehouse/dialects/wire/request-text';
import { maxIdChars, maxReferences, unknownIds, type RequestLookups } from './request-lookups-http.ts';

/** For a request whose answer is kept: its text counts until the response closes, which releases the share itself. */
export function heldShare(share: Share): Share {
  return { release: () => undefined, copied: (bytes) => share.copied?.(bytes) };
}

interface Given {
  given: CompletionRequest;
  body: Buffer;
  /** Is charged for the text that goes out. */
  share: { grow(bytes: number): void };
  /** The turn for what takes memory beside the body. */
  work: LargeWork;
  dialect: Dialect;
  principal: TenantPrincipal;
  /** How long the tenant's answers are kept. */
  days: number;
  read: (text: Buffer) => Promise<CompletionRequest>;
  lookups: RequestLookups;
  findFor: (request: CompletionRequest) => Promise<Target>;
}

interface Continued {
  request: CompletionRequest;
  target: Target;
  /** Keeps the answer; null where it is not kept. */
  keep: KeepAnswer | null;
  /** The kept answer that the client names. */
  previousId: string | null;
  /** The text of the request. */
  text: Buffer;
}

interface Naming extends Pick<Given, 'body' | 'share' | 'work' | 'principal' | 'days' | 'lookups'> {
  state: RequestState;
  format: StateFormat;
  /** The one that gets the conversation. */
  provider: string;
}

/**
 * A request with everything that it names. `own` has the items of its ids, as they are kept; `text` also has the earlier
 * conversation, and summaries as a provider reads them.
 */
export async function continuedText(
  responses: KeptResponses,
  { body, share, work, principal, days, lookups, state, format, provider }: Naming,
): Promise<{ own: Buffer; text: Buffer }> {
  const { tenantId, userId } = principal;
  const reserve = async (bytes: number): Promise<void> => {
    await work.begin(bytes);
    share.grow(bytes);
  };
  const asking = { tenantId, userId, days, format, provider, reserve };
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

  const named = await namedItems(state, {
    look: lookups.holders,
    read: (holders) => responses.items(holders, asking),
  });
  const kept = new Map([...named].map(([place, item]) => [place, textOf(item)]));
  const own = await withItems(kept);
  const summaries = new Map([...state.summaries].map(([place, sealed]) => [place, opened(sealed, place)]));
  for (const [place, item] of named) {
    const summary = typeof item === 'number' ? summaries.get(item) : item?.summary;
    if (typeof summary === 'string') summaries.set(place, opened(summary, place));
    else if (summary) summaries.set(place, summary);
  }
  const shown = summaries.size === 0 ? own : await withItems(new Map([...kept, ...summaries]));
  const { previousId } = state;
  if (previousId === null) return { own, text: shown };
  const earlier = await responses.conversation(await lookups.chain(previousId), asking);
  return { own, text: await edited(() => format.continued(shown, earlier)) };
}

/** A text, the place of another item, or none. */
type Item = Buffer | number | null;

function textOf(item: NamedItem | number | null): Item {
  return typeof item === 'object' && item !== null ? item.text : item;
}

/** The items of the ids of a request, by their places. */
async function namedItems(
  { references, places }: RequestState,
  {
    look,
    read,
  }: {
    look: (ids: readonly string[]) => Promise<Holders>;
    read: (holders: Holders) => Promise<ReadonlyMap<string, NamedItem | null>>;
  },
): Promise<ReadonlyMap<number, NamedItem | number | null>> {
  if (references.size > maxReferences)
    throw new AppError('invalid_value', `input names more than ${maxReferences} items by their ids.`, {
      param: 'input',
    });
  const unknown = unknownIds({ references, places }).filter(({ length }) => length <= maxIdChars);
  const kept = unknown.length === 0 ? new Map<string, never>() : await read(await look(unknown));
  return new Map(
    [...references].map(([place, id]) => {
      const item = places.get(id) ?? kept.get(id);
      if (item !== undefined) return [place, item];
      // OpenAI's words, the same for each reason.
      throw new AppError('item_not_found', `Item with id '${id.slice(0, 200)}' not found.`, {
        param: `input[${place}].id`,
      });
    }),
  );
}

/** The target of a request, from the deployment at the provider that made the response which it goes on from. */
export async function continuedTarget(
  lookups: RequestLookups,
  target: Target,
  previousId: string | null,
): Promise<Target> {
  const [{ id }, second] = target.chain;
  if (previousId === null || second?.id !== id) return target;
  const [previous] = await lookups.chain(previousId);
  return previous === undefined ? target : startingAt(target, previous.provider);
}

/** The models of a request, and the request with everything that it names, in a dialect whose answers are kept. */
export async function continuedRequest(
  responses: KeptResponses,
  { given, body, share, work, dialect, principal, days, read, lookups, findFor }: Given,
): Promise<Continued> {
  const { tenantId, userId } = principal;
  const { state: format } = dialect;
  const { state } = given;
  const found = await findFor(given);
  if (format === undefined || state === undefined)
    return { request: given, target: found, keep: null, previousId: null, text: body };
  const { previousId, references, places } = state;
  const target = await continuedTarget(lookups, found, previousId);
  const provider = target.chain[0].provider.name;
  const { own, text } = await continuedText(responses, {
    ...{ body, share, work, principal, days, lookups, state, format, provider },
  });
  const keep = state.keeps
    ? responses.keeping({
        ...{ tenantId, userId, days, previousId },
        input: await readPart(own, tenantId, () => format.inputOf(own)),
        itemIds: [...places.keys(), ...references.values()],
      })
    : null;
  if (text === body) return { request: given, target, keep, previousId, text };
  const request = await read(text);
  return { request, target: startingAt(await findFor(request), provider), keep, previousId, text };
}
