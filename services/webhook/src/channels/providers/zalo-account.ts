import { EgressError } from '@gatehouse/egress/errors';
import { z } from 'zod';
import { withExactIntegers } from '../../shared/exact-numbers.ts';
import { ConsentRefused, ProviderUnavailable, type Egresses } from '../adapter.ts';
import { parseOrNull } from './provider-call.ts';

const timeoutMs = 15_000;
const limited = -32;

const answerShape = z.object({
  error: z.int(),
  data: z
    // A text, or a number of up to 19 digits.
    .object({ oa_id: z.coerce.string().regex(/^\d{1,32}$/) })
    .optional()
    .catch(undefined),
});

/**
 * Asks Zalo which Official Account an access token is for: `GET /v2.0/oa/getoa` of the Open API. Returns the id of the
 * account. Throws `ConsentRefused` and `ProviderUnavailable`.
 */
export async function zaloAccountOf(
  apiUrl: string,
  accessToken: string,
  egresses: Egresses,
): Promise<string> {
  const response = await egresses
    .provider({
      method: 'GET',
      url: new URL(`${apiUrl}/v2.0/oa/getoa`),
      headers: { access_token: accessToken },
      timeoutMs,
    })
    .catch((error: unknown) => {
      if (error instanceof EgressError) throw new ProviderUnavailable(error.message, { cause: error });
      throw error;
    });
  const json = parseOrNull(Buffer.from(withExactIntegers(response.body)));
  const answer = answerShape.safeParse(json).data ?? null;
  if (response.status >= 500 || response.status === 429 || answer === null || answer.error === limited)
    throw new ProviderUnavailable(`Zalo responds with ${response.status} to a question for the account.`);
  if (answer.error !== 0 || answer.data === undefined)
    throw new ConsentRefused(`Zalo responds with ${answer.error} to a question for the account.`);
  return answer.data.oa_id;
}
