import { z } from 'zod';
import { MiB, ok, routesWith, scope, type Route } from './route.ts';

/** Requests and responses of `/v1/moderations`, for the documentation: the provider checks requests. */

const verdict = z.looseObject({
  flagged: z.boolean().describe('Whether any category is'),
  categories: z.record(z.string(), z.boolean()),
  category_scores: z.record(z.string(), z.number()).describe('0 to 1'),
  category_applied_input_types: z.record(z.string(), z.array(z.string())).optional(),
});

export const moderationsRequest = z.looseObject({
  model: z
    .string()
    .min(1)
    .optional()
    .describe('A moderation model from `GET /v1/models`; without one `omni-moderation-latest`'),
  input: z
    .union([z.string().min(1), z.array(z.union([z.string(), z.looseObject({ type: z.string() })])).min(1)])
    .describe('One or several texts, or parts of the types `text` and `image_url`'),
});

export const moderations = z.looseObject({
  id: z.string(),
  model: z.string(),
  results: z.array(verdict).describe('One for each text; one for all parts'),
});

const route = routesWith({ service: 'chat', access: scope('chat'), actingUser: true, passThrough: true });

export const routes: Route[] = [
  route('moderations.create', 'POST /v1/moderations', {
    operation: 'moderations',
    bodyLimit: 20 * MiB,
    passedBody: moderationsRequest,
    query: z.looseObject({}),
    response: ok(moderations),
    summary: 'OpenAI-compatible moderations',
    description: [
      'Passes the whole request of the OpenAI API to a provider of the kind `openai`. Agents cannot moderate.',
      'A model without a price costs nothing here. Providers report no tokens, so they are estimated.',
    ].join('\n'),
    examples: {
      text: {
        summary: 'One text',
        body: { model: 'omni-moderation-latest', input: 'Have a nice day.' },
        response: {
          id: 'modr-5MWoLO',
          model: 'omni-moderation-latest',
          results: [
            {
              flagged: false,
              categories: { violence: false, 'self-harm': false },
              category_scores: { violence: 0.0004, 'self-harm': 0.0001 },
              category_applied_input_types: { violence: ['text'], 'self-harm': ['text'] },
            },
          ],
        },
      },
    },
  }),
];
