import { factsOf } from '../model-facts.ts';
import type { TranslatedApi } from '../translation/api.ts';
import { readAnswer } from './response.ts';
import { writeAnswer } from './response.ts';
import { withTooLongWords } from '../translation/too-long.ts';
import { GeminiSource } from './event-source.ts';
import { GeminiWriter } from './event-writer.ts';
import { fieldNames, readRequest } from './request-reader.ts';
import { writeRequest } from './request-writer.ts';
import { anyOutput } from '../translation/schema/mended-schemas.ts';

/** Google's generateContent. */
export const geminiTranslation = {
  thoughtIds: null,
  signaturePlace: '`thoughtSignature`',
  ...{ fieldNames, readRequest, writeRequest, readAnswer, writeAnswer },
  // "Must start with a letter or an underscore" (https://github.com/google-gemini/gemini-cli/issues/2966).
  toolNames: /^[A-Za-z_][\w-]{0,63}$/,
  formatError: withTooLongWords(
    'The input token count exceeds the maximum number of tokens allowed',
    'the input token count',
  ),
  rules: (facts) => ({
    ...{ emptyTexts: 'no-character', system: 'first', modelMedia: true },
    output: factsOf(facts).takesToolsWithFormat ? anyOutput : { ...anyOutput, isBesideTools: false },
    // https://ai.google.dev/api/generate-content#generationconfig
    stops: { most: 5, takesBlank: true },
  }),
  hasWholeCalls: true,
  eventSource: (facts) => new GeminiSource(facts),
  eventWriter: () => new GeminiWriter(),
  counts: {
    request: (request, { name }) => ({ generateContentRequest: { model: `models/${name}`, ...request } }),
    tokens: 'totalTokens',
  },
} satisfies TranslatedApi;
