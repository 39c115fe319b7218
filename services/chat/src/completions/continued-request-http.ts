import { readPart } from '@gatehouse/http/body';
import type { TenantPrincipal } from '@gatehouse/identity/principal';
import type { Target } from '../catalogue/target.ts';
import type { CompletionRequest, Dialect, Share } from '../dialects/dialect.ts';
import type { StateFormat } from '../dialects/state-format.ts';
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

interface Earlier {
  previousId: string;
  body: Buffer;
  share: { grow(bytes: number): void };
  format: StateFormat;
  principal: TenantPrincipal;
  days: number;
  /** The one that gets the conversation. */
  provider: string;
}

/** The text of a request with the conversation that it goes on from. */
export async function continuedText(
  responses: KeptResponses,
  { previousId, body, share, format, principal, days, provider }: Earlier,
): Promise<Buffer> {
  const { tenantId, userId } = principal;
  const reserve = (bytes: number): void => share.grow(bytes);
  const asking = { tenantId, userId, days, format, provider, reserve };
  const earlier = await responses.conversation(previousId, asking);
  const text = await readPart(body, tenantId, () => format.continued(body, earlier));
  share.grow(text.length);
  return text;
}

/** The models of a request, and the request with the conversation that it goes on from, in a dialect that has one. */
export async function continuedRequest(
  responses: KeptResponses,
  { given, body, share, dialect, principal, days, read, findFor }: Given,
): Promise<Continued> {
  const { tenantId, userId } = principal;
  const { state: format } = dialect;
  const target = await findFor(given);
  const { previousId = null, keeps = false } = given.state ?? {};
  const asGiven = { request: given, target, keep: null, previousId, text: body };
  if (format === undefined || (previousId === null && !keeps)) return asGiven;
  const reader = { tenantId, userId, days };
  const keep = keeps
    ? responses.keeping({
        ...{ ...reader, previousId },
        input: await readPart(body, tenantId, () => format.inputOf(body)),
      })
    : null;
  if (previousId === null) return { ...asGiven, keep };
  const provider = target.chain[0].provider.name;
  const text = await continuedText(responses, { previousId, body, share, format, principal, days, provider });
  const request = await read(text);
  return { request, target: await findFor(request), keep, previousId, text };
}
