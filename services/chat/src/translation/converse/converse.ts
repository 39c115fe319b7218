import type { ProviderFormat } from '../api.ts';
import { readAnswer } from './answer-reader.ts';
import { ConverseSource } from './event-source.ts';
import { writeRequest } from './request-writer.ts';

/** Bedrock's Converse, in which providers are called and no client asks. */
export const converse = {
  ...{ writeRequest, readAnswer },
  eventSource: (facts) => new ConverseSource(facts),
} satisfies ProviderFormat;
