import type { DialectName } from '@gatehouse/contract/dialects';
import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import { facts } from '@gatehouse/test/translation-samples';
import { translationBetween } from '@gatehouse/dialects/translation/translation';
import { Pieces } from '@gatehouse/dialects/wire/pieces';

/** The effect of what clients may ask for with models of other APIs, by translating a request for each. */

/** Models by their API, and at Bedrock by their vendor. */
export const targets = {
  chat: { api: 'chat', name: 'm' },
  responses: { api: 'responses', name: 'm' },
  messages: { api: 'messages', name: 'claude-sonnet-4-5' },
  gemini: { api: 'gemini', name: 'gemini-3-pro' },
  'converse, Claude': { api: 'converse', name: 'anthropic.claude-sonnet-4-5-20250929-v1:0' },
  'converse, others': { api: 'converse', name: 'meta.llama4-maverick-17b-instruct-v1:0' },
} as const;
export type TargetName = keyof typeof targets;

/** `yes`: it reaches the model. `left out`: the header `x-gateway-ignored` names it. `400`: an error names it. */
export type Effect = 'yes' | 'left out' | '400';

export interface Capability {
  name: string;
  /** Members of the request of each client that can ask for it; they replace those of a plain one. */
  asked: Partial<Record<DialectName, Fields>>;
  /** Matches the request for a provider that has it; by the API where they differ. */
  sign: RegExp;
}

const plain: Record<DialectName, Fields> = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'Go' }] },
  responses: { model: 'm', input: 'Go', store: false },
  messages: { model: 'm', max_tokens: 60_000, messages: [{ role: 'user', content: 'Go' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Go' }] }] },
};

/** The effect of a request; throws if a part of it is lost without a word. `fields`: null for the plain request. */
export async function effectOf(
  client: DialectName,
  target: TargetName,
  { asked, sign }: Pick<Capability, 'asked' | 'sign'>,
): Promise<Effect> {
  const { api, name } = targets[target];
  const body = Buffer.from(JSON.stringify({ ...plain[client], ...asked[client] }));
  const translation = translationBetween(client, api, { ...facts, name });
  try {
    const { body: written, ignored } = await translation.request(Pieces.from(body), { tenantId: null });
    const isThere = sign.test(written.toString());
    if (isThere === ignored.length > 0)
      throw new Error(
        `${client} to ${target}: ${isThere ? 'it is there and left out' : 'it is lost'}: ${ignored.join()} ${written.toString()}`,
      );
    return isThere ? 'yes' : 'left out';
  } catch (error) {
    if (error instanceof AppError && error.code === 'unsupported_parameter' && error.param !== null)
      return '400';
    throw error;
  }
}
