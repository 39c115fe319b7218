import type { Line } from '@gatehouse/kit/json-lines';
import { cappedPico } from '@gatehouse/kit/money';
import type { ReservedFee } from '../catalogue/kept-price.ts';
import {
  addParts,
  chargeAt,
  costBy,
  noParts,
  type CallPrice,
  type Cost,
  type CostParts,
  type RunCost,
} from '../catalogue/price.ts';
import { NoAnswer, type AnswerFormat, type WholeAnswer } from '@gatehouse/dialects/dialect';
import { uncountedTools } from '@gatehouse/dialects/usage/fee-tools';
import { estimateTokens } from '@gatehouse/dialects/usage/token-estimate';
import { noUsage, sumUsage, withCounted, type Usage } from '@gatehouse/dialects/usage/usage';
import type { BatchResult, ReadResults, Outcome } from './batch-api.ts';
import { CustomIds } from './batch-requests.ts';
import { newId } from '@gatehouse/kit/ids';
import type { Attempt, RunEnd } from '../runs/run.ts';
import type { KeyName } from '../providers/resources.ts';

export interface TallyOptions {
  format: Pick<AnswerFormat, 'readWhole'>;
  resultIn: (line: Buffer, tenantId: string) => Promise<BatchResult>;
  requests: number;
  /** Null where it is not known. */
  price: CallPrice | null;
  /** Fees reserved for tools of the requests. */
  fees: readonly ReservedFee[];
  tenantId: string;
  /** The tokens of a prompt, where a result doesn't say. */
  inputTokensGuess: number;
  /** The most tokens of an answer, on average: those of one too long to be read. */
  mostOutputTokens: number;
}

/** Sums the usage and the cost of results, each priced by itself as a request in a batch, and each request once. */
export class ResultTally implements ReadResults {
  readonly #options: TallyOptions;
  usage: Usage = noUsage;
  /** The parts of the cost. */
  parts: CostParts = noParts;
  #costPico = 0n;
  #unpriced = 0;
  #chargePico = 0n;
  /** Answers without the number of their calls of the tools with a fee. */
  readonly #uncounted = new Map<ReservedFee, number>();
  #price: Pick<Cost, 'source' | 'version'> = { source: null, version: null };
  readonly #ids = new CustomIds();
  #unread = 0;
  answers = 0;
  responseModel: string | null = null;

  constructor(options: TallyOptions) {
    this.#options = options;
  }

  get lines(): number {
    return this.#ids.size + this.#unread;
  }

  get cost(): RunCost {
    const priced = this.#unpriced === 0;
    const costPico = priced || this.#price.source !== null ? cappedPico(this.#costPico) : null;
    return { costPico, priced, ...this.#price };
  }

  /**
   * Charge to budgets: the cost, with results without a cost at the highest known rate, and the fees of tools with
   * calls not counted by answers.
   */
  get chargePico(): bigint {
    let sum = this.#chargePico;
    for (const [{ pico, requests }, answers] of this.#uncounted) {
      const count = BigInt(Math.max(1, requests));
      const paid = BigInt(Math.min(requests, answers));
      sum += (pico * paid + count - 1n) / count;
    }
    return cappedPico(sum);
  }

  /**
   * Adds a result. One without an answer costs nothing, and so does another one of the same request, or of no request.
   */
  async add({ bytes }: Line): Promise<void> {
    const { tenantId, format, resultIn, requests } = this.#options;
    const { customId, answer: body } = await resultIn(bytes, tenantId);
    if (customId === null || this.lines >= requests || !this.#ids.add(customId) || body === null) return;
    this.answers += 1;
    let answer: WholeAnswer;
    try {
      answer = await format.readWhole(body, { tenantId });
    } catch (error) {
      if (error instanceof NoAnswer) return;
      throw error;
    }
    const usage = await this.#usageOf(answer);
    this.#count(usage, uncountedTools(this.#options.fees, usage, { brokeOff: false }));
    this.responseModel ??= answer.responseModel;
  }

  /** Adds a result too long to be read: its answer counts as the longest. */
  addUnread(): void {
    const { inputTokensGuess: input, mostOutputTokens: output, requests } = this.#options;
    if (this.lines >= requests) return;
    this.#unread += 1;
    this.answers += 1;
    this.#count(withCounted(noUsage, { input, output }), this.#options.fees);
  }

  /** `uncounted`: the fees of tools of which it does not count the calls. */
  #count(usage: Usage, uncounted: readonly ReservedFee[]): void {
    for (const fee of uncounted) this.#uncounted.set(fee, (this.#uncounted.get(fee) ?? 0) + 1);
    this.usage = sumUsage([this.usage, usage]);
    const { price } = this.#options;
    const cost = costBy(price, usage);
    if (cost !== null) this.#chargePico += cost.costPico;
    else if (price !== null) this.#chargePico += chargeAt([price.list], price.tools, usage);
    this.#charge(cost);
  }

  #charge(cost: Cost | null): void {
    if (cost === null) {
      this.#unpriced += 1;
      return;
    }
    const { costPico, source, version, parts } = cost;
    this.#costPico += costPico;
    if (parts !== undefined) this.parts = addParts(this.parts, parts);
    if (source !== null) this.#price = { source, version };
  }

  async #usageOf({ usage, answer }: WholeAnswer): Promise<Usage> {
    if (usage !== null) return usage;
    const { tenantId, inputTokensGuess: input } = this.#options;
    return withCounted(noUsage, { input, output: await estimateTokens(answer, tenantId) });
  }
}

/** The sums over the results of a batch. */
export type BatchSum = Pick<ResultTally, 'usage' | 'cost' | 'parts' | 'responseModel' | 'chargePico'>;

/** The end of a batch's run: one attempt with the usage of all its requests. */
export function batchEnd(
  batch: { key: KeyName; model: string; upstreamModel: string; ageMs: number },
  outcome: Outcome,
  { usage, cost, parts, responseModel, chargePico }: BatchSum,
): { end: RunEnd; attempt: Attempt } {
  const { model, upstreamModel, ageMs: durationMs, key } = batch;
  const { costPico, source, version, priced } = cost;
  const { provider } = key;
  const { status, errorType } = outcome;
  const priceOf = { source, version, ...(source !== null && { parts }) };
  return {
    end: {
      ...{ ...outcome, durationMs, timeToFirstTokenMs: null, provider, model, responseModel, usage, cost },
      ...{ chargePico, outputPreview: null, tools: [] },
    },
    attempt: {
      ...{ id: newId(), number: 1, provider, model, upstreamModel, inputTokensGuess: 0, status },
      ...{ offsetMs: 0, durationMs, timeToFirstTokenMs: null, httpStatus: null, errorCode: errorType },
      ...{ responseModel, usage, cost: priced && costPico !== null ? { costPico, ...priceOf } : null },
    },
  };
}
