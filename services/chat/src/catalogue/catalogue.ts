import type { AllowedModels } from '@gatehouse/contract/allowed-models';
import { RecentMap } from '@gatehouse/kit/recent-map';
import { z } from 'zod';
import type { UpstreamApi } from '../dialects/dialect.ts';
import { modelPrice } from './catalogue-price.ts';
import { knownReasoning } from './known-reasoning.ts';
import { isNameOrPattern, isPattern, maxNameLength, ModelNames, upstreamBehind } from './model-names.ts';
import { apisOf, hasEmbeddings, name, provider, type Provider } from './provider-schema.ts';

/** The operator's catalogue: which providers there are and which models tenants may name. */

const onlyAtEnd = 'must have * at its end only';
const modelName = z
  .string()
  .min(1)
  .max(maxNameLength)
  .refine((id) => !id.startsWith('agent:'), 'must not begin with "agent:", which names agents');
const exactName = modelName.refine((id) => !id.includes('*'), 'must have no *');

const model = z.strictObject({
  /** With `*` at its end, it stands for every name that begins so, and that no other model has. */
  id: modelName.refine(isNameOrPattern, onlyAtEnd),
  /** Other names of the same model. */
  aliases: z.array(exactName).max(20).default([]),
  /** Names behind the pattern that lists of models have. */
  list: z.array(exactName).max(1_000).default([]),
  provider: name,
  /** The provider's own name of the model; the id unless given. In both, `*` stands for the same text. */
  upstream_model: z.string().min(1).max(maxNameLength).refine(isNameOrPattern, onlyAtEnd).optional(),
  /** One of those that its provider's kind has; the first of them unless given. */
  api: z.enum(['chat', 'responses', 'messages', 'gemini', 'converse']).optional(),
  /** Whether it thinks before it answers; unless given, models are known by their names. */
  reasoning: z.boolean().optional(),
  /** Whether it takes parameters of sampling, such as `temperature`. */
  sampling: z.boolean().default(true),
  fallbacks: z.array(z.string().max(maxNameLength)).max(10).default([]),
  /** The most that the model answers with. */
  max_output_tokens: z.int().min(1).max(1e9).optional(),
  price: modelPrice.optional(),
});

const document = z.strictObject({
  providers: z.array(provider).min(1).max(1_000),
  models: z.array(model).min(1).max(10_000),
  /** The model that memory uses for semantic search. */
  embeddings: z.strictObject({ model: z.string().max(maxNameLength) }).optional(),
});

/** A model of the catalogue, with its provider. */
export interface Model extends Omit<z.output<typeof model>, 'provider' | 'upstream_model' | 'api'> {
  provider: Provider;
  api: UpstreamApi;
  upstreamModel: string;
  /** The entry of the catalogue that a name behind its pattern is found by; null for an entry. */
  pattern: Model | null;
}

/** Names behind patterns whose models are kept: clients invent names. */
const maxNamed = 1_000;

export class Catalogue {
  readonly providers: readonly Provider[];
  /** By id, in the order of the file; patterns are among them. */
  readonly models: ReadonlyMap<string, Model>;
  /** The name of the model for embeddings of memory; null if there is none. */
  readonly embeddings: string | null;
  readonly #names: ModelNames;
  /** Those behind patterns, by their names: a name leads to the same object while requests use it. */
  readonly #named = new RecentMap<Model>(maxNamed);

  private constructor(
    providers: readonly Provider[],
    models: ReadonlyMap<string, Model>,
    embeddings: string | null,
  ) {
    this.providers = providers;
    this.models = models;
    this.embeddings = embeddings;
    this.#names = new ModelNames(models.values());
  }

  /** Checks a parsed document and its references. Throws one error that lists every problem. */
  static parse(value: unknown): Catalogue {
    const parsed = document.safeParse(value);
    if (!parsed.success) {
      throw new CatalogueError(
        parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`),
      );
    }
    const { providers, models, embeddings } = parsed.data;
    const problems = [
      ...repeated(providers.map((entry) => entry.name)),
      ...repeated(models.flatMap((entry) => [entry.id, ...entry.aliases])),
      ...models.flatMap(patternProblems),
    ];
    const byName = new Map(providers.map((entry) => [entry.name, entry]));
    const names = new ModelNames(models);
    const resolved = new Map<string, Model>();
    for (const { provider: providerName, upstream_model, api: named, ...rest } of models) {
      const found = byName.get(providerName);
      if (found === undefined) problems.push(`model ${rest.id}: there is no provider ${providerName}`);
      else {
        const apis = apisOf[found.kind];
        const api = named ?? apis[0];
        if (!apis.includes(api))
          problems.push(`model ${rest.id}: providers of kind ${found.kind} have no API ${api}`);
        const upstreamModel = upstream_model ?? rest.id;
        // Names behind a pattern are known one by one.
        const reasoning = rest.reasoning ?? (isPattern(rest.id) ? undefined : knownReasoning(upstreamModel));
        const entry = { ...rest, api, provider: found, upstreamModel, reasoning, pattern: null };
        resolved.set(rest.id, entry);
      }
      for (const fallback of rest.fallbacks) {
        if (names.match(fallback) === undefined)
          problems.push(`model ${rest.id}: there is no fallback model ${fallback}`);
      }
      for (const listed of rest.list) {
        if (names.match(listed)?.id !== rest.id)
          problems.push(`model ${rest.id}: ${listed} in its list is no name behind it`);
      }
    }
    if (embeddings !== undefined) {
      const found = names.match(embeddings.model);
      if (found === undefined) problems.push(`embeddings: there is no model ${embeddings.model}`);
      else if (!canEmbed(resolved.get(found.id)))
        problems.push(`embeddings: the provider of model ${embeddings.model} has no embeddings`);
    }
    if (problems.length > 0) throw new CatalogueError(problems);
    return new Catalogue(providers, resolved, embeddings?.model ?? null);
  }

  /** The model that a name leads to, if the tenant may use it. `allowed` is null when it may use all. */
  find(name: string, allowed: AllowedModels | null): Model | undefined {
    const found = this.#find(name);
    return found === undefined || allowed === null || mayUse(allowed, found) ? found : undefined;
  }

  #find(name: string): Model | undefined {
    const match = this.#names.match(name);
    const entry = match === undefined ? undefined : this.models.get(match.id);
    if (match === undefined || entry === undefined || match.rest === null) return entry;
    const upstreamModel = upstreamBehind(entry.upstreamModel, match.rest);
    return upstreamModel === undefined
      ? undefined
      : this.#named.getOrMake(name, () => modelBehind(entry, name, upstreamModel));
  }
}

/**
 * A list of allowed models is matched against ids, so that no alias and no pattern of the list leads to a model that the
 * list doesn't mean. Its exact entries may be aliases, as wherever a model is named.
 */
function mayUse(allowed: AllowedModels, { id, aliases }: Model): boolean {
  return allowed.has(id) || aliases.some((alias) => allowed.names.has(alias));
}

function modelBehind(pattern: Model, id: string, upstreamModel: string): Model {
  const reasoning = pattern.reasoning ?? knownReasoning(upstreamModel);
  return { ...pattern, id, list: [], upstreamModel, reasoning, pattern };
}

function patternProblems({ id, aliases, list, upstream_model: upstream }: z.output<typeof model>): string[] {
  const wrong = isPattern(id)
    ? { 'a pattern has no aliases': aliases.length > 0 }
    : {
        'only a pattern has a list': list.length > 0,
        'upstream_model ends in *, but the id does not': isPattern(upstream ?? ''),
      };
  return Object.entries(wrong).flatMap(([problem, is]) => (is ? [`model ${id}: ${problem}`] : []));
}

/** A model without a provider is reported as such. */
function canEmbed(model: Model | undefined): boolean {
  return model === undefined || hasEmbeddings(model.provider, model);
}

export class CatalogueError extends Error {
  constructor(problems: readonly string[]) {
    super(`The model catalogue is wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

function repeated(names: readonly string[]): string[] {
  const seen = new Set<string>();
  const twice = new Set(names.filter((entry) => seen.size === seen.add(entry).size));
  return [...twice].map((entry) => `${entry} is there twice`);
}

/**
 * Fills `${NAME}` and `${NAME:-default}` from the environment, so that one file serves several installations. Throws
 * one error that names every variable that is unset and has no default.
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
