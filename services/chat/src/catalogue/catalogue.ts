import { z } from 'zod';
import type { UpstreamApi } from '../dialects/dialect.ts';
import { modelPrice } from './catalogue-price.ts';
import { knownReasoning } from './known-reasoning.ts';
import { apisOf, hasEmbeddings, name, provider, type Provider } from './provider-schema.ts';

/** The operator's catalogue: which providers there are and which models tenants may name. */

const model = z.strictObject({
  id: z
    .string()
    .min(1)
    .max(256)
    .refine((id) => !id.startsWith('agent:'), 'must not begin with "agent:", which names agents'),
  provider: name,
  /** The provider's own name of the model; the id unless given. */
  upstream_model: z.string().min(1).max(256).optional(),
  /** One of those that its provider's kind has; the first of them unless given. */
  api: z.enum(['chat', 'responses', 'messages', 'gemini', 'converse']).optional(),
  /** Whether it thinks before it answers; unless given, models are known by their names. */
  reasoning: z.boolean().optional(),
  /** Whether it takes parameters of sampling, such as `temperature`. */
  sampling: z.boolean().default(true),
  fallbacks: z.array(z.string().max(256)).max(10).default([]),
  /** The most that the model answers with. */
  max_output_tokens: z.int().min(1).max(1e9).optional(),
  price: modelPrice.optional(),
});

const document = z.strictObject({
  providers: z.array(provider).min(1).max(1_000),
  models: z.array(model).min(1).max(10_000),
  /** The model that memory uses for semantic search. */
  embeddings: z.strictObject({ model: z.string().max(256) }).optional(),
});

/** A model of the catalogue, with its provider. */
export interface Model extends Omit<z.output<typeof model>, 'provider' | 'upstream_model' | 'api'> {
  provider: Provider;
  api: UpstreamApi;
  upstreamModel: string;
}

export class Catalogue {
  readonly providers: readonly Provider[];
  /** In the order of the file. */
  readonly models: ReadonlyMap<string, Model>;
  /** The id of the model for embeddings of memory; null if there is none. */
  readonly embeddings: string | null;

  private constructor(
    providers: readonly Provider[],
    models: ReadonlyMap<string, Model>,
    embeddings: string | null,
  ) {
    this.providers = providers;
    this.models = models;
    this.embeddings = embeddings;
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
      ...repeated(models.map((entry) => entry.id)),
    ];
    const byName = new Map(providers.map((entry) => [entry.name, entry]));
    const ids = new Set(models.map((entry) => entry.id));
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
        const reasoning = rest.reasoning ?? knownReasoning(upstreamModel);
        resolved.set(rest.id, { ...rest, api, provider: found, upstreamModel, reasoning });
      }
      for (const fallback of rest.fallbacks) {
        if (!ids.has(fallback)) problems.push(`model ${rest.id}: there is no fallback model ${fallback}`);
      }
    }
    if (embeddings !== undefined && !ids.has(embeddings.model))
      problems.push(`embeddings: there is no model ${embeddings.model}`);
    else if (embeddings !== undefined && !canEmbed(resolved.get(embeddings.model)))
      problems.push(`embeddings: the provider of model ${embeddings.model} has no embeddings`);
    if (problems.length > 0) throw new CatalogueError(problems);
    return new Catalogue(providers, resolved, embeddings?.model ?? null);
  }

  /** The model with this id if the tenant may use it. `allowed` is null when it may use all. */
  find(id: string, allowed: ReadonlySet<string> | null): Model | undefined {
    return allowed === null || allowed.has(id) ? this.models.get(id) : undefined;
  }
}

/** A model without a provider is reported as such. */
function canEmbed(model: Model | undefined): boolean {
  return model === undefined || hasEmbeddings(model.provider, model.api);
}

export class CatalogueError extends Error {
  constructor(problems: readonly string[]) {
    super(`The model catalogue is wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

function repeated(names: readonly string[]): string[] {
  const twice = names.filter((entry, index) => names.indexOf(entry) !== index);
  return [...new Set(twice)].map((entry) => `${entry} is there twice`);
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
