import { dialectOf } from '@gatehouse/dialects/dialects';
import { withHistoryMends } from '@gatehouse/dialects/history-mends';
import { mayHaveHalves, withoutHalves } from '@gatehouse/dialects/wire/lone-surrogates';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';
import { AppError } from '@gatehouse/kit/errors';
import { cooperativeFor, runSteps } from '@gatehouse/kit/cooperative-steps';
import type { HttpAdapter } from './http-adapter.ts';
import type { FittedBody, FittedCall } from './provider-kind.ts';

/**
 * The body of a call without what its provider refuses, or has refused before; the 400 where it can't do without. Every
 * body sent must be made so.
 */
export async function fittedBody(
  adapter: Pick<HttpAdapter, 'fitted'>,
  written: Pieces,
  { tenantId, isTranslated = false, ...call }: FittedCall & { tenantId: string; isTranslated?: boolean },
): Promise<FittedBody | AppError> {
  const fitted = adapter.fitted(call, written);
  if (fitted instanceof AppError) return fitted;
  let { body } = fitted;
  const { refused: mends } = call;
  const history = mends.size > 0 ? dialectOf(call.api)?.history : undefined;
  if (history !== undefined)
    body = await runSteps(withHistoryMends(body, { history, mends }), cooperativeFor(body, tenantId));
  // A client's own bytes stay until they are refused.
  if ((isTranslated || mends.has('texts.halves')) && mayHaveHalves(body))
    body = await runSteps(withoutHalves(body), cooperativeFor(body, tenantId));
  return { ...fitted, body };
}
