import { dayMs, hourMs, minuteMs } from '@gatehouse/kit/bounds';
import type { AllowedModels } from '@gatehouse/contract/allowed-models';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { RecentMap } from '@gatehouse/kit/recent-map';
import { z } from 'zod';
import { withoutLong } from '@gatehouse/dialects/model-names';
import { limitNames } from '@gatehouse/dialects/request-additions';
import { upstreamApis, type UpstreamApi } from '@gatehouse/dialects/upstream-api';
import { modelPrice } from './catalogue-price.ts';
import { isNameOrPattern, isPattern, ModelNames, nameBehind, upstreamBehind } from './model-names.ts';
import { factsBy, familyBehind, isKnownFamily, unknownFamily } from './facts-by.ts';
import {
  hasEmbeddings,
  hasPool,
  name,
  oneOf,
  provider,
  traitsOf,
  weight,
  type Provider,
} from './provider-schema.ts';
import { maxNameLength, maxNamed } from '../bounds.ts';

/** The operator's catalogue: which providers there are and which models tenants may name. */

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

const model = z.strictObject({
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

const catalogueDocument = z.strictObject({
  providers: z.array(provider).min(1),
  models: z.array(model.refine(...oneOf('provider', 'deployments'))).min(1),
  /** The embedding model of memory's semantic search. */
  embeddings: z.strictObject({ model: z.string().max(maxNameLength) }).optional(),
  prices: prices.optional(),
});

/** A catalogue as it is written, with all defaults. */
type CatalogueDocument = z.output<typeof catalogueDocument>;

/** Checks the shape of a parsed document. Throws one error with every problem. */
function readDocument(value: unknown): CatalogueDocument {
  const parsed = catalogueDocument.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new CatalogueError(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`));
}

/** A model of the catalogue at one provider. */
export interface Model extends Omit<
  z.output<typeof model>,
  'provider' | 'deployments' | 'upstream_model' | 'api'
> {
  provider: Provider;
  api: UpstreamApi;
  upstreamModel: string;
  /** Its share of the calls, in proportion to the others' weights. */
  weight: number;
  /** The further deployments of the model; empty for each of these. */
  others: readonly Model[];
  /** For a name behind a pattern: the pattern's deployment in the catalogue. Null for a deployment of the catalogue. */
  pattern: Model | null;
}

/** A model at each of its providers. */
export function deploymentsOf(model: Model): readonly [Model, ...Model[]] {
  return [model, ...model.others];
}

/** The name of a deployment, also in another catalogue. */
export function deploymentName({ provider, upstreamModel }: Model): string {
  return cacheKey(provider.name, upstreamModel);
}

interface Content {
  providers: readonly Provider[];
  models: ReadonlyMap<string, Model>;
  divides: boolean;
  embeddings: string | null;
  prices: PriceSetting | null;
  names: ModelNames;
  /** Models behind patterns, by their names: a name leads to the same object while requests use it. */
  named: RecentMap<Model>;
}

export class Catalogue {
  #content: Content;

  private constructor(content: Content) {
    this.#content = content;
  }

  /** Checks a parsed document and its references. Throws one error with every problem. */
  static parse(value: unknown): Catalogue {
    const { providers, models, embeddings, prices } = readDocument(value);
    const byName = new Map(providers.map((entry) => [entry.name, entry]));
    const names = new ModelNames();
    for (const entry of models) names.add(entry);
    const problems = [
      ...repeated(providers.map((entry) => entry.name)),
      ...repeated(models.flatMap(({ id, aliases }) => [id, ...aliases])),
      ...models.flatMap(patternProblems),
    ];
    const resolved = new Map<string, Model>();
    let divides = providers.some(hasPool);
    for (const entry of models) {
      const [first, ...others] = deployed(entry, byName, problems);
      if (first !== undefined) resolved.set(entry.id, { ...first, others });
      divides ||= others.length > 0;
      for (const fallback of entry.fallbacks) {
        if (names.match(fallback) === undefined)
          problems.push(`model ${entry.id}: there is no fallback model ${fallback}`);
      }
      for (const listed of entry.list) {
        if (names.match(listed)?.id !== entry.id)
          problems.push(`model ${entry.id}: ${listed} in its list is no name behind it`);
      }
    }
    if (embeddings !== undefined) {
      const found = names.match(embeddings.model);
      if (found === undefined) problems.push(`embeddings: there is no model ${embeddings.model}`);
      else if (!canEmbed(resolved.get(found.id)))
        problems.push(`embeddings: the provider of model ${embeddings.model} has no embeddings`);
    }
    if (problems.length > 0) throw new CatalogueError(problems);
    return new Catalogue({
      ...{ providers, models: resolved, embeddings: embeddings?.model ?? null, prices: prices ?? null },
      ...{ divides, names, named: new RecentMap(maxNamed) },
    });
  }

  get providers(): readonly Provider[] {
    return this.#content.providers;
  }

  /** By id, in the order of the file, each at the first of its deployments; patterns are among them. */
  get models(): ReadonlyMap<string, Model> {
    return this.#content.models;
  }

  /** Whether calls of some model are divided. */
  get divides(): boolean {
    return this.#content.divides;
  }

  /** The name of the model for embeddings of memory; null without one. */
  get embeddings(): string | null {
    return this.#content.embeddings;
  }

  /** The operator's list of prices; null without one. */
  get prices(): PriceSetting | null {
    return this.#content.prices;
  }

  /** Takes the whole content of another catalogue. Models found before stay as they are. */
  replaceBy(other: Catalogue): void {
    this.#content = other.#content;
  }

  /** The model behind a name, if the tenant may use it. `allowed`: null when it may use all. */
  find(name: string, allowed: AllowedModels | null): Model | undefined {
    const found = this.#find(name);
    return found === undefined || allowed === null || mayUse(allowed, found) ? found : undefined;
  }

  /**
   * Whether one of the models that a tenant may use has this name at its provider. Names behind a pattern are those of its
   * own provider: each of `providers` must have one.
   */
  reaches(upstreamName: string, allowed: AllowedModels, providers: ReadonlySet<string>): boolean {
    const { models } = this.#content;
    const isThere = (entry: Model): boolean =>
      deploymentsOf(entry).some(({ upstreamModel }) => upstreamModel === upstreamName);
    const named = this.find(upstreamName, allowed);
    if (named !== undefined && isThere(named)) return true;
    if ([...models.values()].some((entry) => isThere(entry) && mayUse(allowed, entry))) return true;
    const left = new Set(providers);
    for (const { id, upstreamModel, provider } of [...models.values()].flatMap(deploymentsOf)) {
      const name = left.has(provider.name) ? nameBehind(id, upstreamModel, upstreamName) : undefined;
      const model = name !== undefined && allowed.has(name) ? this.find(name, allowed) : undefined;
      const isBehind = (each: Model): boolean =>
        each.upstreamModel === upstreamName && each.provider.name === provider.name;
      if (model !== undefined && deploymentsOf(model).some(isBehind)) left.delete(provider.name);
    }
    return left.size === 0;
  }

  #find(requested: string): Model | undefined {
    const { models, names, named } = this.#content;
    // No pattern has a name in brackets behind it.
    const name = names.match(requested) === undefined ? withoutLong(requested) : requested;
    const match = names.match(name);
    const entry = match === undefined ? undefined : models.get(match.id);
    if (match === undefined || entry === undefined || match.rest === null) return entry;
    const { rest } = match;
    const isKnown = deploymentsOf(entry).every(
      ({ upstreamModel }) => upstreamBehind(upstreamModel, rest) !== undefined,
    );
    return isKnown ? named.getOrMake(name, () => modelBehind(entry, name, rest)) : undefined;
  }
}

/**
 * Matches ids against a list of allowed models, so no alias and no pattern of the list leads to a model it doesn't
 * mean. Exact entries of the list may be aliases, as wherever a model is named.
 */
function mayUse(allowed: AllowedModels, { id, aliases }: Model): boolean {
  return allowed.has(id) || aliases.some((alias) => allowed.names.has(alias));
}

function modelBehind(pattern: Model, id: string, rest: string): Model {
  const upstreamModel = upstreamBehind(pattern.upstreamModel, rest) ?? id;
  const reasoning = pattern.reasoning ?? factsBy({ ...pattern, upstreamModel }).reasoning;
  const others = pattern.others.map((other) => modelBehind(other, id, rest));
  return { ...pattern, id, list: [], upstreamModel, reasoning, others, pattern };
}

function patternProblems({
  id,
  aliases,
  list,
  upstream_model: named,
  deployments = [],
}: z.output<typeof model>): string[] {
  const upstreams = [named, ...deployments.map(({ upstream_model: own }) => own)];
  const wrong = isPattern(id)
    ? { 'a pattern has no aliases': aliases.length > 0 }
    : {
        'only a pattern has a list': list.length > 0,
        'upstream_model ends in *, but the id does not': upstreams.some((upstream) =>
          isPattern(upstream ?? ''),
        ),
      };
  return Object.entries(wrong).flatMap(([problem, is]) => (is ? [`model ${id}: ${problem}`] : []));
}

/** A model at each of its providers. Adds what is wrong to `problems`. */
function deployed(
  { provider: sole, deployments, upstream_model: named, api: asked, ...rest }: z.output<typeof model>,
  providers: ReadonlyMap<string, Provider>,
  problems: string[],
): Model[] {
  const entries = deployments ?? [{ provider: sole ?? '', weight: 1 }];
  const found = entries.flatMap(({ provider: providerName, weight, upstream_model: own }) => {
    const provider = providers.get(providerName);
    if (provider === undefined) {
      problems.push(`model ${rest.id}: there is no provider ${providerName}`);
      return [];
    }
    const [first, ...others] = traitsOf(provider.kind).apis;
    const api = asked === undefined || (deployments !== undefined && !others.includes(asked)) ? first : asked;
    const upstreamModel = own ?? named ?? rest.id;
    // Names behind a pattern are known one by one.
    const host = { upstreamModel, api, kind: provider.kind };
    const family = rest.family ?? familyBehind(host, [rest.id, ...rest.aliases]);
    const facts = { ...rest, family, upstreamModel };
    const reasoning = rest.reasoning ?? (isPattern(rest.id) ? undefined : factsBy(facts).reasoning);
    return [{ ...facts, api, provider, reasoning, weight, others: [], pattern: null }];
  });
  const kinds = [...new Set(found.map(({ provider: { kind } }) => kind))];
  if (asked !== undefined && kinds.length > 0 && !kinds.some((kind) => traitsOf(kind).apis.includes(asked)))
    problems.push(`model ${rest.id}: providers of kind ${kinds.join(', ')} have no API ${asked}`);
  const names = found.map(({ provider, upstreamModel }) => `${upstreamModel} of ${provider.name}`);
  problems.push(...repeated(names).map((problem) => `model ${rest.id}: ${problem}`));
  return found;
}

/** A model without a provider is a problem of its own. */
function canEmbed(model: Model | undefined): boolean {
  return (
    model === undefined ||
    deploymentsOf(model).every((deployment) => hasEmbeddings(deployment.provider, deployment))
  );
}

export class CatalogueError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The model catalogue is wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** Problems of repeated names. */
function repeated(names: readonly string[]): string[] {
  const seen = new Set<string>();
  const twice = names.filter((name) => seen.size === seen.add(name).size);
  return [...new Set(twice)].map((name) => `${name} is there twice`);
}

/**
 * Fills `${NAME}` and `${NAME:-default}` from the environment, so one file serves several installations. Throws one
 * error with the name of every unset variable without a default.
 */
export function interpolate(text: string, environment: Record<string, string | undefined>): string {
  const unset = new Set<string>();
  const filled = text.replaceAll(
    /\$\{([A-Z_][A-Z0-9_]*)(?::-([^}]*))?\}/g,
    (_whole, variable: string, fallback?: string) => {
      const value = environment[variable] ?? '';
      if (value !== '') return value;
      if (fallback === undefined) unset.add(variable);
      return fallback ?? '';
    },
  );
  if (unset.size > 0)
    throw new CatalogueError([...unset].map((variable) => `the environment variable ${variable} is not set`));
  return filled;
}
