import type { TranslatedApi } from '../api.ts';
import { readAnswer } from './answer-reader.ts';
import { writeAnswer } from './answer-writer.ts';
import { clientWords } from './errors.ts';
import { MessageSource } from './event-source.ts';
import { MessageWriter } from './event-writer.ts';
import { fieldNames, readRequest } from './request-reader.ts';
import { writeRequest } from './request-writer.ts';

/** Anthropic's messages. */
export const messages = {
  thoughtIds: null,
  ...{ fieldNames, readRequest, writeRequest, readAnswer, writeAnswer, clientWords },
  eventSource: (facts) => new MessageSource(facts),
  eventWriter: () => new MessageWriter(),
} satisfies TranslatedApi;
