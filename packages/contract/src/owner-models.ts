import { z } from 'zod';
import { usd } from './fields.ts';
import { ok, owner, route, type Route } from './route.ts';

/** The models of the catalogue as the operator sees them: `/internal/v1/owner/models`. */

const count = z.int().min(0);

const modelDeployment = z.object({
  provider: z.string(),
  upstream_model: z.string().describe("The provider's name of the model; a pattern for all names behind it"),
  weight: z.number().describe('Its share of the calls, beside that of the others'),
  price: z
    .object({
      source: z
        .enum(['catalogue', 'genai-prices'])
        .describe("`catalogue`: the operator's, of the model or of the list; `genai-prices`: the public one"),
      version: z.string().describe('Version of the price, as in spans of runs'),
      usd_per_mtok: z
        .object({
          input: usd.nullable(),
          cached_input: usd.nullable().describe('Input that the provider reads from its cache'),
          output: usd.nullable(),
        })
        .describe(
          'USD per million tokens of text, in the standard service tier and before surcharges of long input; null for classes without a price',
        ),
    })
    .nullable()
    .describe(
      'The price of a call at this time; null for none, and for a pattern whose names have their own',
    ),
  calls: count.describe(
    'Of the last ten minutes, over all replicas, to this model of the provider: models of the catalogue that share it show the same',
  ),
  unpriced_calls: count.describe(
    'Calls among them without a price: of the model, of a class of tokens, of a tool or of a service tier',
  ),
});

export const ownerModel = z.object({
  id: z.string().describe('Model id; with `*` at its end, all names with that prefix'),
  aliases: z.array(z.string()),
  fallbacks: z.array(z.string()),
  deployments: z.array(modelDeployment),
});
export type OwnerModel = z.output<typeof ownerModel>;

export const ownerModelList = z.object({
  object: z.literal('list'),
  data: z.array(ownerModel),
  has_more: z.literal(true).optional().describe('Present if the list exceeds a response of 1 MiB'),
});

const example: OwnerModel = {
  ...{ id: 'gpt-4.1-mini', aliases: ['small'], fallbacks: ['local-llama'] },
  deployments: [
    {
      ...{ provider: 'azure-eu', upstream_model: 'gpt-4-1-mini-eu', weight: 1 },
      price: {
        ...{ source: 'catalogue', version: '2026-11' },
        usd_per_mtok: { input: '0.400000000000', cached_input: '0.100000000000', output: '1.600000000000' },
      },
      ...{ calls: 1_204, unpriced_calls: 0 },
    },
  ],
};

export const routes: readonly Route[] = [
  route('owner.models.list', 'GET /internal/v1/owner/models', {
    service: 'chat',
    access: owner,
    response: ok(ownerModelList),
    summary: 'Models of the catalogue, with their deployments and prices',
    description:
      'The catalogue and the prices of the replica that answers, and calls of the last ten minutes over all replicas.',
    examples: {
      models: {
        summary: 'A model that the list of the operator prices',
        response: { object: 'list', data: [example] },
      },
    },
  }),
];
