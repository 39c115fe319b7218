import { countedMembers, type ModelFacts, type ProviderFormat } from '../translation/api.ts';
import { readAnswer } from './response.ts';
import { pointPlaces } from './cache-points.ts';
import { ConverseSource } from './stream.ts';
import { writeRequest } from './request-writer.ts';
import { familyOf } from '../model-facts.ts';
import { claudeOutput, type OutputRules } from '../translation/schema/mended-schemas.ts';

/** See `CountTokens` (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseTokensRequest.html). */
const counted = ['messages', 'system', 'toolConfig', 'additionalModelRequestFields'];

/** Models of others answer by a schema as it is. Converse has no mode for any JSON object. */
function outputOf(facts: ModelFacts): OutputRules {
  return familyOf(facts) === 'claude' ? claudeOutput(facts) : { json: 'words', schema: 'any' };
}

/** Bedrock's Converse, in which providers are called and no client asks. */
export const bedrockConverseTranslation = {
  ...{ writeRequest, readAnswer, pointPlaces },
  rules: (facts) => ({
    ...{ emptyTexts: 'white-space', modelMedia: false, system: 'first' },
    stops: { most: Infinity, takesBlank: familyOf(facts) !== 'claude' },
    output: outputOf(facts),
  }),
  eventSource: (facts) => new ConverseSource(facts),
  counts: {
    request: (request) => ({ input: { converse: countedMembers(request, counted) } }),
    tokens: 'inputTokens',
  },
} satisfies ProviderFormat;
