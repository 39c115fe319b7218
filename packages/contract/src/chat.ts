import { z } from 'zod';

/** The parts of the OpenAI wire format that the gateway itself makes: `/v1/models*`. What passes: `openai.ts`. */

export const model = z.strictObject({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
});
export type Model = z.output<typeof model>;

export const modelList = z.strictObject({
  object: z.literal('list'),
  data: z.array(model),
  has_more: z
    .literal(true)
    .optional()
    .describe('Only when there are more agents than fit into the 4 MiB of an answer'),
});
