import { dayMs, hourMs, minuteMs } from '@gatehouse/kit/bounds';
import { isFields, listOf } from '@gatehouse/kit/fields';
import { limitNames } from '@gatehouse/dialects/request-additions';
import { upstreamApis } from '@gatehouse/dialects/upstream-api';
import { z } from 'zod';
import { modelPrice } from './catalogue-price.ts';
import { isKnownFamily, unknownFamily } from './facts-by.ts';
import { isNameOrPattern } from './model-names.ts';
import { name, oneOf, provider, weight, type Provider } from './provider-schema.ts';
import { maxNameLength } from '../bounds.ts';

/** The shape of the catalogue's file. */

const onlyAtEnd = 'must have * at its end only';
const modelName = z
  .string()
  .min(1)
  .max(maxNameLength)
  .refine((id) => !id.startsWith('agent:'), 'must not begin with "agent:", which names agents');
const exactName = modelName.refine((id) => !id.includes('*'), 'must have no *');

const upstreamName = z.string().min(1).max(maxNameLength).refine(isNameOrPattern, onlyAtEnd);

/** A model at one of several providers, among which its calls are divided. */
const deployment = z.strictObject({
  provider: name,
  /** The name of the model unless given. */
  upstream_model: upstreamName.optional(),
  weight,
});

const modelFields = z.strictObject({
  /** With `*` at its end, it stands for every name with this beginning, unless another model has the name. */
  id: modelName.refine(isNameOrPattern, onlyAtEnd),
  /** Other names of the same model. */
  aliases: z.array(exactName).max(20).default([]),
  /** Names behind the pattern, for lists of models. */
  list: z.array(exactName).max(1_000).default([]),
  provider: name.optional(),
  /** In place of one provider. */
  deployments: z.array(deployment).min(1).max(16).optional(),
  /** The provider's own name of the model; the id unless given. In both, `*` stands for the same text. */
  upstream_model: upstreamName.optional(),
  /**
   * An API of its provider's kind; the first of these unless given. A deployment of a kind without it is called in the
   * first API of its own kind.
   */
  api: z.enum(upstreamApis).optional(),
  /** Whether it thinks before it answers; unless given, models are known by their names. */
  reasoning: z.boolean().optional(),
  /** A public name of it, or of its family, for rules that go by names; the upstream's name unless given. */
  family: z.string().max(maxNameLength).refine(isKnownFamily, unknownFamily).optional(),
  /** Whether it takes parameters of sampling, like `temperature`. So do all fields down to `cache`: by its name unless given. */
  sampling: z.boolean().optional(),
  /** Whether its thinking can be switched off. */
  thinking_off: z.boolean().optional(),
  /** Whether it has a context of a million tokens by Anthropic's beta. */
  context_1m: z.boolean().optional(),
  /** The name of the limit of an answer in chat completions. */
  max_tokens_field: z.enum(limitNames).optional(),
  /** Whether requests without cache points get some, for models that cache only up to points. */
  cache: z.enum(['auto', 'off']).default('auto'),
  fallbacks: z.array(z.string().max(maxNameLength)).max(10).default([]),
  /** The most tokens of an answer. */
  max_output_tokens: z.int().min(1).max(1e9).optional(),
  price: modelPrice.optional(),
});

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: minuteMs, h: hourMs };

const priceFields = z.strictObject({
  /** A list over the public one, see `operator-prices.ts`. */
  file: z.string().min(1).max(4_096).optional(),
  url: z
    .url({ protocol: /^https?$/ })
    .max(4_096)
    .refine((url) => new URL(url).username + new URL(url).password === '', 'must have no user info')
    .optional(),
  /** How often the list behind the URL is fetched at least, in milliseconds. */
  every: z
    .string()
    .regex(/^[1-9]\d{0,4}[smh]$/, 'must be a number of seconds, minutes or hours, such as 30m')
    .transform((text) => Number.parseInt(text, 10) * (unitMs[text.slice(-1)] ?? 0))
    .refine((ms) => ms <= dayMs, 'must be 24h at most')
    .optional(),
});
const prices = priceFields
  .refine(({ file, url }) => (file === undefined) !== (url === undefined), 'needs either a file or a url')
  .refine(({ url, every }) => url !== undefined || every === undefined, 'every is for a url')
  .transform((given) => ({ ...given, every: given.every ?? hourMs }));
export type PriceSetting = z.output<typeof prices>;

export type ModelEntry = z.output<typeof modelFields>;

const model = modelFields.refine(...oneOf('provider', 'deployments'));

const catalogueDocument = z.strictObject({
  providers: z.array(provider).min(1),
  models: z.array(model).min(1),
  /** The embedding model of memory's semantic search. */
  embeddings: z.strictObject({ model: z.string().max(maxNameLength) }).optional(),
  prices: prices.optional(),
});

/** A mistake, and its place in the document. */
export interface Mistake {
  path: readonly PropertyKey[];
  text: string;
}

/** An entry, with its index in the file. */
export interface Placed<Entry> {
  entry: Entry;
  at: number;
}

/** A document as far as its parts have their shape. */
export interface ReadDocument {
  providers: Placed<Provider>[];
  models: Placed<ModelEntry>[];
  embeddings: string | null;
  prices: PriceSetting | null;
  problems: Mistake[];
  /** Names of providers, and names of models, with a mistake: references to these are none. */
  wrong: { providers: string[]; models: { id: string; aliases: string[] }[] };
}

/** Checks the shape of a parsed document: what is right is checked further, so that all mistakes are found at once. */
export function readDocument(value: unknown): ReadDocument {
  const { success, data, error } = catalogueDocument.safeParse(value);
  if (success)
    return {
      providers: data.providers.map((entry, at) => ({ entry, at })),
      models: data.models.map((entry, at) => ({ entry, at })),
      embeddings: data.embeddings?.model ?? null,
      prices: data.prices ?? null,
      problems: [],
      wrong: { providers: [], models: [] },
    };
  const fields = isFields(value) ? value : {};
  const providers = rightOf(provider, listOf(fields['providers']));
  const models = rightOf(model, listOf(fields['models']));
  return {
    ...{ providers: providers.right, models: models.right, embeddings: null, prices: null },
    problems: error.issues.map(problemOf),
    wrong: {
      providers: providers.wrong.flatMap(({ name: named }) => textsOf([named])),
      models: models.wrong.flatMap(({ id, aliases }) =>
        textsOf([id]).map((known) => ({ id: known, aliases: textsOf(listOf(aliases)) })),
      ),
    },
  };
}

function problemOf(issue: z.core.$ZodIssue): Mistake {
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  return { path: [...issue.path, ...unknown], text: `${issue.path.join('.')}: ${issue.message}` };
}

/** The entries that have a shape, with their places, and the fields of the others. */
function rightOf<Shape extends z.ZodType>(
  shape: Shape,
  entries: readonly unknown[],
): { right: Placed<z.output<Shape>>[]; wrong: Record<string, unknown>[] } {
  const right: Placed<z.output<Shape>>[] = [];
  const wrong: Record<string, unknown>[] = [];
  for (const [at, entry] of entries.entries()) {
    const { success, data } = shape.safeParse(entry);
    if (success) right.push({ entry: data, at });
    else if (isFields(entry)) wrong.push(entry);
  }
  return { right, wrong };
}

function textsOf(values: readonly unknown[]): string[] {
  return values.filter((one) => typeof one === 'string');
}
