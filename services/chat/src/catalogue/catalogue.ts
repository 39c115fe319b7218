import type { AllowedModels } from '@gatehouse/contract/allowed-models';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { RecentMap } from '@gatehouse/kit/recent-map';
import { ConfigError } from '@gatehouse/kit/config';
import { withoutLong } from '@gatehouse/dialects/model-names';
import type { UpstreamApi } from '@gatehouse/dialects/upstream-api';
import {
  readDocument,
  type ModelEntry,
  type Placed,
  type PriceSetting,
  type Mistake,
} from './catalogue-document.ts';
import { isPattern, ModelNames, nameBehind, upstreamBehind } from './model-names.ts';
import { factsBy, familyBehind } from './facts-by.ts';
import { hasEmbeddings, hasPool, traitsOf, type Provider } from './provider-schema.ts';
import { maxNamed } from '../bounds.ts';

/** The operator's catalogue: which providers there are and which models tenants may name. */

/** A model of the catalogue at one provider. */
export interface Model extends Omit<ModelEntry, 'provider' | 'deployments' | 'upstream_model' | 'api'> {
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

  /**
   * Checks a parsed document and its references. Throws one error with every problem, each with its place by `placeOf`:
   * a text before it, such as a line.
   */
  static parse(value: unknown, placeOf: (path: Mistake['path']) => string = () => ''): Catalogue {
    const { providers, models, embeddings, prices, wrong, problems } = readDocument(value);
    const byName = new Map<string, Provider | null>([
      ...wrong.providers.map((name) => [name, null] as const),
      ...providers.map(({ entry }) => [entry.name, entry] as const),
    ]);
    const names = new ModelNames();
    for (const entry of [...wrong.models, ...models.map(({ entry: right }) => right)]) names.add(entry);
    problems.push(
      ...repeated(providers.map(({ entry, at }) => [entry.name, ['providers', at, 'name']])),
      ...repeated(
        models.flatMap(({ entry: { id, aliases }, at }) =>
          [id, ...aliases].map((one) => [one, ['models', at]]),
        ),
      ),
      ...models.flatMap(patternProblems),
    );
    const resolved = new Map<string, Model>();
    let divides = providers.some(({ entry }) => hasPool(entry));
    for (const placed of models) {
      const { entry, at } = placed;
      const [first, ...others] = deployed(placed, byName, problems);
      if (first !== undefined) resolved.set(entry.id, { ...first, others });
      divides ||= others.length > 0;
      const add = (member: string, index: number, text: string): void =>
        void problems.push({ path: ['models', at, member, index], text: `model ${entry.id}: ${text}` });
      for (const [index, fallback] of entry.fallbacks.entries()) {
        if (names.match(fallback) === undefined)
          add('fallbacks', index, `there is no fallback model ${fallback}`);
      }
      for (const [index, listed] of entry.list.entries()) {
        if (names.match(listed)?.id !== entry.id)
          add('list', index, `${listed} in its list is no name behind it`);
      }
    }
    if (embeddings !== null) {
      const path = ['embeddings', 'model'];
      const found = names.match(embeddings);
      if (found === undefined) problems.push({ path, text: `embeddings: there is no model ${embeddings}` });
      else if (!canEmbed(resolved.get(found.id)))
        problems.push({ path, text: `embeddings: the provider of model ${embeddings} has no embeddings` });
    }
    if (problems.length > 0) throw new CatalogueError(problems.map(({ path, text }) => placeOf(path) + text));
    return new Catalogue({
      ...{ providers: providers.map(({ entry }) => entry), models: resolved, embeddings, prices },
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

  /** The entry behind a name, if the tenant may use it: as `find`, but makes no model of a name behind a pattern. */
  entryOf(requested: string, allowed: AllowedModels | null): Model | undefined {
    const match = this.#match(requested);
    if (match === undefined || allowed === null) return match?.entry;
    const { entry, name, rest } = match;
    return mayUse(allowed, rest === null ? entry : { id: name, aliases: [] }) ? entry : undefined;
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
    const match = this.#match(requested);
    if (match === undefined) return undefined;
    const { entry, name, rest } = match;
    return rest === null ? entry : this.#content.named.getOrMake(name, () => modelBehind(entry, name, rest));
  }

  /** The entry behind a name, and the part in place of its `*`; undefined where a provider can't have the name. */
  #match(requested: string): { entry: Model; name: string; rest: string | null } | undefined {
    const { models, names } = this.#content;
    // No pattern has a name in brackets behind it.
    const name = names.match(requested) === undefined ? withoutLong(requested) : requested;
    const { id, rest = null } = names.match(name) ?? {};
    const entry = id === undefined ? undefined : models.get(id);
    if (entry === undefined) return undefined;
    const isKnown =
      rest === null ||
      deploymentsOf(entry).every(({ upstreamModel }) => upstreamBehind(upstreamModel, rest) !== undefined);
    return isKnown ? { entry, name, rest } : undefined;
  }
}

/**
 * Matches ids against a list of allowed models, so no alias and no pattern of the list leads to a model it doesn't
 * mean. Exact entries of the list may be aliases, as wherever a model is named.
 */
function mayUse(allowed: AllowedModels, { id, aliases }: Pick<Model, 'id' | 'aliases'>): boolean {
  return allowed.has(id) || aliases.some((alias) => allowed.names.has(alias));
}

function modelBehind(pattern: Model, id: string, rest: string): Model {
  const upstreamModel = upstreamBehind(pattern.upstreamModel, rest) ?? id;
  const reasoning = pattern.reasoning ?? factsBy({ ...pattern, upstreamModel }).reasoning;
  const others = pattern.others.map((other) => modelBehind(other, id, rest));
  return { ...pattern, id, list: [], upstreamModel, reasoning, others, pattern };
}

function patternProblems({ entry, at }: Placed<ModelEntry>): Mistake[] {
  const { id, aliases, list, upstream_model: named, deployments = [] } = entry;
  const upstreams = [named, ...deployments.map(({ upstream_model: own }) => own)];
  const wrong = isPattern(id)
    ? { 'a pattern has no aliases': aliases.length > 0 }
    : {
        'only a pattern has a list': list.length > 0,
        'upstream_model ends in *, but the id does not': upstreams.some((upstream) =>
          isPattern(upstream ?? ''),
        ),
      };
  return Object.entries(wrong).flatMap(([problem, is]) =>
    is ? [{ path: ['models', at], text: `model ${id}: ${problem}` }] : [],
  );
}

/** A model at each of its providers. Adds what is wrong to `problems`. `providers`: null for one with a mistake. */
function deployed(
  {
    entry: { provider: sole, deployments, upstream_model: named, api: asked, ...rest },
    at,
  }: Placed<ModelEntry>,
  providers: ReadonlyMap<string, Provider | null>,
  problems: Mistake[],
): Model[] {
  const add = (text: string, path: PropertyKey[] = []): void =>
    void problems.push({ path: ['models', at, ...path], text: `model ${rest.id}: ${text}` });
  const entries = deployments ?? [{ provider: sole ?? '', weight: 1 }];
  const found = entries.flatMap(({ provider: providerName, weight, upstream_model: own }, index) => {
    const provider = providers.get(providerName);
    if (provider === undefined)
      add(`there is no provider ${providerName}`, [
        ...(deployments === undefined ? [] : ['deployments', index]),
        'provider',
      ]);
    if (provider === undefined || provider === null) return [];
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
    add(`providers of kind ${kinds.join(', ')} have no API ${asked}`, ['api']);
  const names = found.map(({ provider, upstreamModel }) => `${upstreamModel} of ${provider.name}`);
  for (const { text } of repeated(names.map((one) => [one, []]))) add(text, ['deployments']);
  return found;
}

/** A model without a provider is a problem of its own. */
function canEmbed(model: Model | undefined): boolean {
  return (
    model === undefined ||
    deploymentsOf(model).every((deployment) => hasEmbeddings(deployment.provider, deployment))
  );
}

/** A wrong catalogue, or a list of prices. The message is for the operator, and has a line for each problem. */
export class CatalogueError extends ConfigError {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The model catalogue is wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** Problems of repeated names, each at the place of its last repeat. */
function repeated(names: readonly (readonly [name: string, path: PropertyKey[]])[]): Mistake[] {
  const seen = new Set<string>();
  const twice = new Map<string, Mistake>();
  for (const [name, path] of names) {
    if (seen.has(name)) twice.set(name, { path, text: `${name} is there twice` });
    seen.add(name);
  }
  return [...twice.values()];
}
