import type { Catalogue, Model } from './catalogue.ts';
import { loadKnownPrices, type KnownPrices, type PriceList } from './known-prices.ts';
import { costAt, mostCostAt, parseRate, type Cost, type PriceSource, type Rates } from './price.ts';
import type { AttemptStart } from './run.ts';
import type { Usage } from './usage.ts';

interface SourcedList {
  source: PriceSource;
  list: PriceList;
}

/** Public prices change by the day, and a few by the time of day, which is told to the minute. */
const validMs = 60_000;

/** Prices provider calls as they end: by the catalogue's price, else by the provider's public one. */
export class Pricing {
  readonly #catalogue: Catalogue;
  readonly #known: KnownPrices | null;
  readonly #own = new Map<string, SourcedList>();
  /** Of each model the list looked up last. */
  readonly #looked = new Map<string, { minute: number; found: SourcedList | null }>();

  constructor(catalogue: Catalogue, known: KnownPrices | null) {
    this.#catalogue = catalogue;
    this.#known = known;
    for (const model of catalogue.models.values()) {
      const rates = catalogueRates(model);
      if (rates !== null) this.#own.set(model.id, { source: 'catalogue', list: { ratesFor: () => rates } });
    }
  }

  /** Loads the public prices if a model of the catalogue has none of its own. */
  static async create(catalogue: Catalogue): Promise<Pricing> {
    const needed = [...catalogue.models.values()].some((model) => model.price === undefined);
    return new Pricing(catalogue, needed ? await loadKnownPrices() : null);
  }

  /** The cost of a call that started at `at`; null when it has tokens and no price is known for them. */
  costOf(
    attempt: Pick<AttemptStart, 'provider' | 'model' | 'upstreamModel'>,
    usage: Usage,
    at: Date,
  ): Cost | null {
    if (usage.inputTokens + usage.outputTokens === 0) return { costPico: 0n, source: null };
    const model = this.#catalogue.models.get(attempt.model);
    // Another replica's catalogue may mean another model by this id.
    if (model?.provider.name !== attempt.provider || model.upstreamModel !== attempt.upstreamModel)
      return null;
    const found = this.#own.get(model.id) ?? this.#look(model, at);
    if (found === null) return null;
    const costPico = costAt(found.list.ratesFor(usage.inputTokens), usage);
    return costPico === null ? null : { costPico, source: found.source };
  }

  /** The most that one call of `model` at `at` can cost; null when it has no price. */
  mostCost(model: Model, tokens: { input: number; output: number }, at: Date): bigint | null {
    const list = (this.#own.get(model.id) ?? this.#look(model, at))?.list;
    if (list === undefined) return null;
    // A tier's price may be that of a shorter prompt.
    const costs = [0, tokens.input].map((input) => mostCostAt(list.ratesFor(input), tokens));
    return costs.reduce((most, cost) => (most === null || cost === null ? null : cost > most ? cost : most));
  }

  #look(model: Model, at: Date): SourcedList | null {
    if (this.#known === null) return null;
    const minute = Math.floor(at.getTime() / validMs);
    const last = this.#looked.get(model.id);
    if (last?.minute === minute) return last.found;
    const list = this.#known.find(model.provider.base_url, model.upstreamModel, at);
    const found = list === null ? null : ({ source: 'genai-prices', list } as const);
    this.#looked.set(model.id, { minute, found });
    return found;
  }
}

/** The catalogue tells no price of cache writes and reasoning: they are input and output. */
function catalogueRates({ price }: Model): Rates | null {
  if (price === undefined) return null;
  const input = parseRate(price.input_per_mtok);
  const output = parseRate(price.output_per_mtok);
  const cachedInput =
    price.cached_input_per_mtok === undefined ? input : parseRate(price.cached_input_per_mtok);
  return { input, cachedInput, cacheWrite: input, output, reasoning: output, call: 0n };
}
