import { z } from 'zod';

/**
 * The parts of the OpenAI wire format that the gateway itself makes. Requests and responses of
 * `/v1/chat/completions` and `/v1/embeddings` pass through; OpenAI's own schema describes them.
 */

export const model = z.strictObject({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
});
export type Model = z.output<typeof model>;

export const modelList = z.strictObject({ object: z.literal('list'), data: z.array(model) });

export const openAiObject = z.looseObject({});
