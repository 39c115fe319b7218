import { minuteMs } from '@gatehouse/kit/bounds';
import { hash } from 'node:crypto';
import { cappedPico } from '@gatehouse/kit/money';
import type { ModelFamily } from '@gatehouse/dialects/model-names';
import { deploymentsOf, type Catalogue, type Model } from './catalogue.ts';
import { regionFactors, startsOf, statedAt, tierList, tierOf, toolPrices } from './catalogue-price.ts';
import { factsBy, rulesNameOf } from './facts-by.ts';
import { knownVersion, loadKnownPrices, type KnownList, type KnownPrices } from './known-prices.ts';
import type { OperatorPrices, StatedPrice } from './operator-prices.ts';
import {
  chargeAt,
  completeRates,
  costBy,
  free,
  halved,
  highestOf,
  isFree,
  mostCostAt,
  priceList,
  toolCost,
  wholeFactor,
  type CacheFactors,
  type CallPrice,
  type Cost,
  type CostBounds,
  type PriceList,
  type PriceSource,
  type RegionFactors,
  type StatedRates,
  type ToolPrices,
} from './price.ts';
import type { Operation } from '@gatehouse/dialects/dialect';
import { reservedCalls, type FeeTool } from '@gatehouse/dialects/usage/fee-tools';
import type { TokenClass, Usage } from '@gatehouse/dialects/usage/usage';

/** The prices of one model. */
interface Prices {
  source: PriceSource;
  version: string;
  /** By service tier; null is the standard one. */
  lists: ReadonlyMap<string | null, PriceList>;
  /** Requests in batches are charged by it. */
  batch: PriceList;
  tools: ToolPrices;
  regions: RegionFactors;
}

/** A call by its operation, start and service tier; null where the provider named no tier. */
interface PricedCall {
  operation?: Operation | undefined;
  at: Date;
  serviceTier: string | null;
  /** Whether it was one of a batch. No tier named by a client or a provider makes it one. */
  inBatch?: boolean | undefined;
}

/** Upper bounds of a call. */
interface MostAsked extends CostBounds {
  serviceTier: string | null;
  feeTools?: readonly FeeTool[] | undefined;
}

/** A call by its recorded names. */
interface RecordedCall {
  provider: string;
  model: string;
  upstreamModel: string;
}

/** The tier of an operator's price for batches. Without it, they have half of the standard price. */
const batchTier = 'batch';

/** Prices provider calls as they end: by the catalogue's price, else by the provider's public one. */
export class Pricing {
  readonly #catalogue: Catalogue;
  #known: KnownPrices | null;
  #operatorPrices: OperatorPrices | null = null;
  /** The prices of each model as looked up last. Public ones change by the day, and a few by the minute. */
  #looked = new WeakMap<Model, { minute: number; prices: Prices | null }>();

  constructor(catalogue: Catalogue, known: KnownPrices | null) {
    this.#catalogue = catalogue;
    this.#known = known;
  }

  static async create(catalogue: Catalogue): Promise<Pricing> {
    const pricing = new Pricing(catalogue, null);
    await pricing.prepare(catalogue);
    return pricing;
  }

  /** Loads the public prices if a catalogue leaves a price open. */
  async prepare({ models }: Catalogue): Promise<void> {
    const isNeeded = [...models.values()].some(
      ({ price }) => price === undefined || openClasses(statedAt(price, 0)).length > 0,
    );
    if (isNeeded) this.#known ??= await loadKnownPrices();
  }

  /** Charges by the operator's list from now on, ahead of the public one; null for no list. */
  chargeBy(operatorPrices: OperatorPrices | null): void {
    this.#operatorPrices = operatorPrices;
    this.#looked = new WeakMap();
  }

  /** The cost of a call recorded by a process, by the catalogue's present entry for its model. */
  costOfRecorded(attempt: RecordedCall, usage: Usage, call: PricedCall): Cost | null {
    if (isFree(usage)) return free;
    const model = this.#modelOf(attempt);
    return model === undefined ? null : this.costOf(model, usage, call);
  }

  /** Another replica's catalogue may mean another model by this id. */
  #modelOf(attempt: RecordedCall): Model | undefined {
    const named = this.#catalogue.find(attempt.model, null);
    return (named === undefined ? [] : deploymentsOf(named)).find(
      ({ provider, upstreamModel }) =>
        provider.name === attempt.provider && upstreamModel === attempt.upstreamModel,
    );
  }

  /** The cost of a call. Null when a class of its tokens has no price in its tier, or a called tool has no price. */
  costOf(model: Model, usage: Usage, call: PricedCall): Cost | null {
    if (isFree(usage) || this.#isFreeOfCharge(model, call)) return free;
    return costBy(this.priceOf(model, call), usage);
  }

  /** Moderations are free of charge unless a price is set, as OpenAI has them. */
  #isFreeOfCharge(model: Model, { operation, at }: Pick<PricedCall, 'operation' | 'at'>): boolean {
    return operation === 'moderations' && this.#pricesOf(model, at) === null;
  }

  /** The charge to a budget for a call: its cost, where known. 0 where its model has no price at all. */
  chargeOf(model: Model, usage: Usage, call: PricedCall): bigint {
    const cost = this.costOf(model, usage, call);
    if (cost !== null) return cost.costPico;
    const prices = this.#pricesOf(model, call.at);
    return prices === null ? 0n : chargeAt([...prices.lists.values()], prices.tools, usage);
  }

  /** The same for a call recorded by a process. */
  chargeOfRecorded(attempt: RecordedCall, usage: Usage, call: PricedCall): bigint {
    if (isFree(usage)) return 0n;
    const model = this.#modelOf(attempt);
    return model === undefined ? 0n : this.chargeOf(model, usage, call);
  }

  /** The prices of a call in its tier; null if its model has no price. */
  priceOf(model: Model, { at, serviceTier, inBatch = false }: PricedCall): CallPrice | null {
    const prices = this.#pricesOf(model, at);
    if (prices === null) return null;
    const { source, version, tools, regions } = prices;
    const list = inBatch ? prices.batch : prices.lists.get(tierOf(serviceTier));
    return list === undefined ? null : { source, version, list, tools, regions };
  }

  /**
   * The highest cost of one call of `model` at `at`, in any tier it may be served in after a request for `serviceTier`;
   * of all calls of a batch, where there are `calls`. A tier without a price counts as the most expensive one with a
   * price. Null when the model has no price.
   */
  mostCost(model: Model, most: MostAsked, at: Date): bigint | null {
    if (this.#isFreeOfCharge(model, { ...most, at })) return 0n;
    const prices = this.#pricesOf(model, at);
    const anywhere = prices === null ? null : mostOfTokens(prices, most);
    if (prices === null || anywhere === null) return null;
    const tokenCost = model.provider.kind === 'anthropic' ? inAnyRegion(anywhere, prices.regions) : anywhere;
    return cappedPico(tokenCost + this.toolsCost(model, most.feeTools ?? [], at));
  }

  /** The cost of the calls reserved for tools of the provider; those without a price count 0. */
  toolsCost(model: Model, tools: readonly FeeTool[], at: Date): bigint {
    const prices = this.#pricesOf(model, at)?.tools ?? {};
    return (
      toolCost(prices, reservedCalls(toolsAt(model, tools).filter((tool) => isPriced(tool, prices)))) ?? 0n
    );
  }

  /** Tools of the provider among these without a price. */
  unpricedTools(model: Model, tools: readonly FeeTool[], at: Date): FeeTool[] {
    const prices = this.#pricesOf(model, at)?.tools ?? {};
    return toolsAt(model, tools).filter((tool) => !isPriced(tool, prices));
  }

  #pricesOf(model: Model, at: Date): Prices | null {
    const minute = Math.floor(at.getTime() / minuteMs);
    const last = this.#looked.get(model);
    if (last?.minute === minute) return last.prices;
    const known = this.#known?.find(model.provider.base_url, model.upstreamModel, at) ?? null;
    const prices = pricesFrom(operatorPrice(model, this.#operatorPrices), known, cachesOf(model, known));
    this.#looked.set(model, { minute, prices });
    return prices;
  }
}

function mostOfTokens({ lists, batch }: Prices, most: MostAsked): bigint | null {
  if (most.calls !== undefined) return mostCostAt(batch, most);
  const named = most.serviceTier !== null && most.serviceTier !== 'auto';
  // Without a name the provider's settings decide. A requested tier may give way to the standard one.
  const tier = tierOf(most.serviceTier);
  const tiers = named && lists.has(tier) ? [...new Set([null, tier])] : [...lists.keys()];
  return highestOf(
    tiers.flatMap((name) => {
      const list = lists.get(name);
      return list === undefined ? [] : [mostCostAt(list, most)];
    }),
  );
}

/** A cost in the most expensive region, rounded up. A workspace of the provider may have a region of its own. */
function inAnyRegion(cost: bigint, regions: RegionFactors): bigint {
  const factor = Object.values(regions).reduce((most, next) => (next > most ? next : most), wholeFactor);
  return factor === wholeFactor || cost === 0n ? cost : (cost * factor) / wholeFactor + 1n;
}

/** The tools that a model gets: translation leaves some out. */
function toolsAt({ api }: Model, tools: readonly FeeTool[]): readonly FeeTool[] {
  return tools.filter(({ onlyIn = api }) => onlyIn === api);
}

function isPriced({ billed }: FeeTool, prices: ToolPrices): boolean {
  return billed !== null && prices[billed] !== undefined;
}

/** The operator's price of a model with its version: from its entry, else from the list. */
function operatorPrice(
  { price, provider, upstreamModel }: Model,
  operatorPrices: OperatorPrices | null,
): { price: StatedPrice; version: string } | null {
  if (price !== undefined)
    return { price, version: `catalogue:${hash('sha256', JSON.stringify(price)).slice(0, 16)}` };
  const listed = operatorPrices?.find(provider.name, upstreamModel);
  return operatorPrices === null || listed === undefined
    ? null
    : { price: listed, version: operatorPrices.version };
}

/**
 * Rules of vendors for caches of all of their models at any host: Anthropic's factors, and no fee for Nova's writes.
 *
 * - https://platform.claude.com/docs/en/about-claude/pricing#prompt-caching (read 2026-11-30)
 * - https://aws.amazon.com/bedrock/pricing (read 2026-11-29)
 */
const cachesByFamily: Partial<Record<ModelFamily, CacheFactors>> = {
  claude: { cachedInput: 100n, cacheWrite: 1_250n, cacheWrite1h: 2_000n },
  nova: { cacheWrite: 1_000n },
};

/** The models of Claude with another factor of cached tokens, from the footnote of the same table. */
const cachedInputByName: readonly (readonly [RegExp, bigint])[] = [
  [/claude-opus-5[.-]5/, 50n],
  [/claude-(fable|mythos)-5[.-]1/, 25n],
  [/claude-3-haiku/, 120n],
];

function cachesOf(model: Model, known: KnownList | null): CacheFactors {
  const names = [rulesNameOf(model), model.upstreamModel];
  const [, cachedInput] = cachedInputByName.find(([rule]) => names.some((name) => rule.test(name))) ?? [];
  return {
    ...cachesByFamily[factsBy(model).family],
    ...(cachedInput !== undefined && { cachedInput }),
    ...known?.caches,
  };
}

function pricesFrom(
  operator: ReturnType<typeof operatorPrice>,
  known: KnownList | null,
  caches: CacheFactors,
): Prices | null {
  if (operator === null) {
    if (known === null) return null;
    const list = priceList(known.starts, (inputTokens) => completeRates(known.statedAt(inputTokens), caches));
    const lists = new Map([[null, list]]);
    return {
      source: 'genai-prices',
      version: knownVersion,
      lists,
      batch: halved(list),
      tools: {},
      regions: regionFactors({}),
    };
  }
  const { price, version } = operator;
  const standard = priceList([...startsOf(price), ...(known?.starts ?? [])], (inputTokens) => {
    const stated = statedAt(price, inputTokens);
    return completeRates({ ...openRates(stated, known?.statedAt(inputTokens) ?? {}), ...stated }, caches);
  });
  const tiers = Object.entries(price.service_tiers ?? {}).map(([name, tier]): [string, PriceList] => [
    name,
    tierList(tier, caches),
  ]);
  const lists = new Map<string | null, PriceList>([[null, standard], ...tiers]);
  const batch = lists.get(batchTier) ?? halved(standard);
  return {
    ...{ source: 'catalogue', version, lists, batch },
    ...{ tools: toolPrices(price), regions: regionFactors(price) },
  };
}

/** Classes never billed as another one. */
const separateClasses = [
  'cacheWrite',
  'cacheWrite1h',
  'inputAudio',
  'outputAudio',
  'outputImage',
  'outputVideo',
] as const satisfies readonly TokenClass[];

/** Classes the catalogue leaves to the prices of the public list. */
function openClasses(stated: StatedRates): TokenClass[] {
  const open: TokenClass[] = separateClasses.filter((name) => stated[name] === undefined);
  return open.includes('inputAudio') ? [...open, 'cachedInputAudio'] : open;
}

function openRates(stated: StatedRates, known: StatedRates): StatedRates {
  const entries = openClasses(stated).map((name) => [name, known[name]] as const);
  return Object.fromEntries(entries.filter(([, rate]) => rate !== undefined));
}
