import type { TranslatedApi } from '../translation/api.ts';
import { chatIds } from '../translation/call-ids.ts';
import { factsOf, familyOf } from '../model-facts.ts';
import { readAnswer } from './whole-answer.ts';
import { writeAnswer } from './answer-writer.ts';
import { withTooLongCode } from '../translation/too-long.ts';
import { ChunkSource } from './event-source.ts';
import { ChunkWriter } from './event-writer.ts';
import { fieldNames, readRequest } from './request-reader.ts';
import { writeRequest } from './request-writer.ts';
import { cacheHint } from '../translation/cache-points.ts';
import { openAiOutput } from '../translation/schema/mended-schemas.ts';

/** OpenAI's chat completions. */
export const openAiChatTranslation = {
  thoughtIds: chatIds,
  cacheHint,
  ...{ fieldNames, readRequest, writeRequest, readAnswer, writeAnswer },
  formatError: withTooLongCode,
  rules: (facts) => ({
    ...{ emptyTexts: 'no-character', system: 'anywhere', modelMedia: false, output: openAiOutput(facts) },
    // https://platform.openai.com/docs/api-reference/chat/create#chat-create-stop
    stops: {
      most: factsOf(facts).takesStop ? (familyOf(facts) === 'openai' ? 4 : Infinity) : 0,
      takesBlank: true,
    },
  }),
  eventSource: (facts) => new ChunkSource(facts),
  eventWriter: () => new ChunkWriter(),
} satisfies TranslatedApi;
