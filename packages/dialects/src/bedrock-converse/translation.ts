import { countedMembers, type ProviderFormat } from '../translation/api.ts';
import { readAnswer } from './response.ts';
import { hasCachePoints } from './cache-points.ts';
import { ConverseSource } from './stream.ts';
import { writeRequest } from './request-writer.ts';

/** See `CountTokens` (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseTokensRequest.html). */
const counted = ['messages', 'system', 'toolConfig', 'additionalModelRequestFields'];

/** Bedrock's Converse, in which providers are called and no client asks. */
export const bedrockConverseTranslation = {
  ...{ writeRequest, readAnswer, hasCachePoints },
  rules: () => ({ emptyTexts: 'white-space' }),
  eventSource: (facts) => new ConverseSource(facts),
  counts: {
    request: (request) => ({ input: { converse: countedMembers(request, counted) } }),
    tokens: 'inputTokens',
  },
} satisfies ProviderFormat;
