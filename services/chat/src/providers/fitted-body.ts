import { dialectOf } from '@gatehouse/dialects/dialects';
import { withHistoryMends } from '@gatehouse/dialects/history-mends';
import { mayHaveHalves, withoutHalves } from '@gatehouse/dialects/wire/lone-surrogates';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';
import { AppError } from '@gatehouse/kit/errors';
import { cooperativeFor, runSteps } from '@gatehouse/kit/cooperative-steps';
import type { HttpAdapter } from './http-adapter.ts';
import type { ProviderCall } from './adapter.ts';
import type { PreparedBody } from './call-translation.ts';
import type { FittedBody, FittedCall } from './provider-kind.ts';

interface Mending extends Pick<FittingCall, 'tenantId'> {
  history: NonNullable<ReturnType<typeof dialectOf>>['history'] | undefined;
  mends: ReadonlySet<string>;
  mendsHalves: boolean;
}

type FittedRequest = PreparedBody & Pick<FittedBody, 'isUnsure'>;

interface FittingCall extends FittedCall {
  tenantId: string;
  isTranslated?: boolean;
  /** See `ProviderCall`. */
  copied?: ProviderCall['copied'];
}

/**
 * The body of a call without what its provider refuses, or has refused before; the 400 where it can't do without. Every
 * body sent must be made so. A promise only for one with texts to mend.
 */
export function fittedBody(
  adapter: Pick<HttpAdapter, 'fitted'>,
  written: PreparedBody,
  { tenantId, isTranslated = false, copied, ...call }: FittingCall,
): FittedRequest | AppError | Promise<FittedRequest> {
  const fitted = adapter.fitted(call, written.body);
  if (fitted instanceof AppError) return fitted;
  const ignored = [...written.ignored, ...fitted.dropped];
  const ready = (body: Pieces): FittedRequest => {
    if (body !== written.body) copied?.(body.length);
    return { body, ignored, ...(fitted.isUnsure === true && { isUnsure: true }) };
  };
  const { refused: mends } = call;
  const history = mends.size > 0 ? dialectOf(call.api)?.history : undefined;
  // A client's own bytes stay until they are refused.
  const mendsHalves = isTranslated || mends.has('texts.halves');
  if (history === undefined && !(mendsHalves && mayHaveHalves(fitted.body))) return ready(fitted.body);
  return mended(fitted.body, { history, mends, mendsHalves, tenantId }).then(ready);
}

async function mended(written: Pieces, { history, mends, mendsHalves, tenantId }: Mending): Promise<Pieces> {
  let body = written;
  if (history !== undefined)
    body = await runSteps(withHistoryMends(body, { history, mends }), cooperativeFor(body, tenantId));
  if (mendsHalves && mayHaveHalves(body))
    body = await runSteps(withoutHalves(body), cooperativeFor(body, tenantId));
  return body;
}
