import { countedMembers, type TranslatedApi } from '../translation/api.ts';
import { readAnswer, writeAnswer } from './response.ts';
import { withTooLongWords } from '../translation/too-long.ts';
import { MessageSource } from './event-source.ts';
import { MessageWriter } from './event-writer.ts';
import { cacheHint } from '../translation/cache-points.ts';
import { pointPlaces } from './cache-points.ts';
import { fieldNames, readRequest } from './request-reader.ts';
import { takesSystemInMiddle, writeRequest } from './request-writer.ts';
import { claudeOutput } from '../translation/schema/mended-schemas.ts';

const counted = ['model', 'messages', 'system', 'thinking', 'tool_choice', 'tools', 'output_config'];

/** Anthropic's messages. */
export const anthropicMessagesTranslation = {
  thoughtIds: null,
  signaturePlace: '`signature` in `thinking` block',
  ...{ cacheHint, marksCache: true, pointPlaces },
  ...{ fieldNames, readRequest, writeRequest, readAnswer, writeAnswer },
  formatError: withTooLongWords('prompt is too long'),
  rules: (facts) => ({
    ...{ emptyTexts: 'white-space', modelMedia: false, stops: { most: Infinity, takesBlank: false } },
    system: takesSystemInMiddle(facts) ? 'anywhere' : 'first',
    output: claudeOutput(facts),
  }),
  eventSource: (facts) => new MessageSource(facts),
  eventWriter: () => new MessageWriter(),
  counts: { request: (request) => countedMembers(request, counted), tokens: 'input_tokens' },
} satisfies TranslatedApi;
