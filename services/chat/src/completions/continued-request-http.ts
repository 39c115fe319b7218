import { readPart } from '@gatehouse/http/body';
import { AppError } from '@gatehouse/kit/errors';
import type { TenantPrincipal } from '@gatehouse/identity/principal';
import type { Target } from '../catalogue/target.ts';
import type { CompletionRequest, Dialect, Share } from '../dialects/dialect.ts';
import type { RequestState, StateFormat } from '../dialects/state-format.ts';
import type { KeptResponses } from '../kept-responses/kept-response-store.ts';
import type { KeepAnswer } from '../runs/run.ts';

/** For a request whose answer is kept: its text counts until the response closes, which releases the share itself. */
export const heldShare: Share = { release: () => undefined };

interface Given {
  given: CompletionRequest;
  body: Buffer;
  /** Is charged for the text that goes out. */
  share: { grow(bytes: number): void };
  dialect: Dialect;
  principal: TenantPrincipal;
  /** How long the tenant's answers are kept. */
  days: number;
  read: (text: Buffer) => Promise<CompletionRequest>;
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

interface Naming extends Pick<Given, 'body' | 'share' | 'principal' | 'days'> {
  state: RequestState;
  format: StateFormat;
  /** The one that gets the conversation. */
  provider: string;
}

/** Ids of items that one request may have in place of them. */
const maxReferences = 1_000;

/** A request with everything that it names: `own` has the items of its ids, and `text` the earlier conversation too. */
export async function continuedText(
  responses: KeptResponses,
  { body, share, principal, days, state, format, provider }: Naming,
): Promise<{ own: Buffer; text: Buffer }> {
  const { tenantId, userId } = principal;
  const reserve = (bytes: number): void => share.grow(bytes);
  const asking = { tenantId, userId, days, format, provider, reserve };
  const edited = async (edit: () => Buffer): Promise<Buffer> => {
    const text = await readPart(body, tenantId, edit);
    share.grow(text.length);
    return text;
  };
  const { references, places, previousId } = state;
  if (references.size > maxReferences)
    throw new AppError('invalid_value', `input names more than ${maxReferences} items by their ids.`, {
      param: 'input',
    });
  const unknown = [...new Set(references.values())].filter((id) => !places.has(id));
  const kept = unknown.length === 0 ? noItems : await responses.items(unknown, asking);
  const items = new Map([...references].map(([place, id]) => [place, itemOf(id, { kept, places, place })]));
  const own = items.size === 0 ? body : await edited(() => format.withItems(body, items));
  if (previousId === null) return { own, text: own };
  const earlier = await responses.conversation(previousId, asking);
  return { own, text: await edited(() => format.continued(own, earlier)) };
}

type KeptItems = ReadonlyMap<string, Buffer | null>;
const noItems: KeptItems = new Map();

function itemOf(
  id: string,
  { kept, places, place }: Pick<RequestState, 'places'> & { kept: KeptItems; place: number },
): Buffer | number | null {
  const item = places.get(id) ?? kept.get(id);
  if (item !== undefined) return item;
  // OpenAI's words, the same for each reason.
  throw new AppError('item_not_found', `Item with id '${id.slice(0, 200)}' not found.`, {
    param: `input[${place}].id`,
  });
}

/** The models of a request, and the request with everything that it names, in a dialect whose answers are kept. */
export async function continuedRequest(
  responses: KeptResponses,
  { given, body, share, dialect, principal, days, read, findFor }: Given,
): Promise<Continued> {
  const { tenantId, userId } = principal;
  const { state: format } = dialect;
  const { state } = given;
  const target = await findFor(given);
  if (format === undefined || state === undefined)
    return { request: given, target, keep: null, previousId: null, text: body };
  const { previousId, references, places } = state;
  const provider = target.chain[0].provider.name;
  const { own, text } = await continuedText(responses, {
    ...{ body, share, principal, days, state, format, provider },
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
  return { request, target: await findFor(request), keep, previousId, text };
}
