import type { ApiName } from '@gatehouse/dialects/dialects';
import { concernsRequest } from '@gatehouse/dialects/provider-errors';
import type { RequestHead } from '@gatehouse/dialects/dialect';
import type { ReasoningFill } from '@gatehouse/dialects/translation/api';
import { AppError } from '@gatehouse/kit/errors';
import type { Model } from '../catalogue/catalogue.ts';
import { factsBy } from '../catalogue/facts-by.ts';
import type { Target } from '../catalogue/target.ts';
import { fieldsAt, nameOf } from './kinds/hosted-fields.ts';
import { allBetas } from './kinds/hosted-messages.ts';
import { mayBeOfVendor } from './call-translation.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { ProviderRegistry } from './registry.ts';
import { historyMendsFor } from './refused-history.ts';
import { readsSignatures } from './signature-origins.ts';

/** Vertex AI names the betas that it refuses (https://github.com/vercel/ai/issues/10981). */
const unexpected = /Unexpected value\(s\) (.{1,1500}?) for the `anthropic-beta` header/s;
/** Bedrock does not (https://github.com/BerriAI/litellm/issues/19984). */
const invalidFlag = /\binvalid beta flag\b/i;
/** Both name the place of a field that they refuse (https://github.com/anthropics/claude-code-action/issues/1005). */
const extraInputs = /([\w.]{1,200}): Extra inputs are not permitted/g;

/** The words of OpenAI (https://github.com/openai/codex/issues/36704) and of Google. */
const unreadable =
  /invalid_encrypted_content|encrypted content\b.{0,200}could not be (?:verified|decrypted)|(?:corrupted|invalid) thought.?signature|thought.?signature is (?:in|not )valid/is;

/** How reasoning is filled in, from the least to the most, with the name of each in what a deployment refuses. */
const fills: readonly (readonly [name: string, fill: ReasoningFill])[] = [
  ['reasoning_content.calls', 'calls'],
  ['reasoning_content.all', 'all'],
  ['reasoning_content.space', 'space'],
];
/** Kimi and DeepSeek want it beside calls, also those of other models (https://github.com/MoonshotAI/kimi-cli/issues/2141). */
const demand = /\breasoning_content\b/;

/** Reasoning of the request, as its name in `x-gateway-ignored`. */
const reasoningName = 'reasoning';
/** Hints of the client's vendor, which a model without a name may not have. */
const vendorName = 'vendor';
const vendorHints = /prompt caching|extraneous key|\bthinking\b/i;
/** The request as its client wrote it, which a model with the client's API does not take. */
const formName = 'form';

export interface RefusalsOptions {
  /** The API of the client; null for a request of which hints and betas alone can be left out. */
  api: ApiName | null;
  tenantId: string;
  providers: Pick<ProviderRegistry, 'get' | 'refused'>;
  request?: Pick<RequestHead, 'operation' | 'compaction'>;
  target?: Pick<Target, 'chain'>;
}

/**
 * Refusals of one request that the same request without their cause is sent once more for, to the same model: hints and
 * betas, forms of a history, reasoning that no account of the provider reads, and missing reasoning. Later requests begin without the cause.
 */
export class Refusals {
  readonly #options: RefusalsOptions;
  #model: Model | null = null;
  /** Names refused by the model in this run. */
  #newNames: readonly string[] = [];
  #names: ReadonlySet<string> = new Set();
  /** The refusal of the request as its client wrote it. */
  #asWritten: ProviderFailure | null = null;

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  /** Begins an attempt. It lacks the same until it ends, whatever other requests find meanwhile. */
  begin(model: Model): void {
    const { providers, tenantId } = this.#options;
    if (model !== this.#model) this.#newNames = [];
    this.#model = model;
    this.#names = new Set([...providers.refused.namesOf(model, tenantId), ...this.#newNames]);
  }

  /** Names of what the attempt leaves out. */
  get names(): ReadonlySet<string> {
    return this.#names;
  }

  /** How the attempt fills in missing reasoning; undefined where its deployment has refused nothing. */
  get reasoningFill(): ReasoningFill | undefined {
    return fills.findLast(([name]) => this.#names.has(name))?.[1];
  }

  /** Whether the attempt leaves all reasoning out. */
  get leavesReasoning(): boolean {
    return this.#names.has(reasoningName);
  }

  /** Whether the attempt takes a model without a name for one of the client's vendor. */
  get isOfVendor(): boolean {
    const { api } = this.#options;
    if (api === null || this.#model === null || this.#names.has(vendorName)) return false;
    return mayBeOfVendor(api, this.#model);
  }

  /** Whether the attempt translates the request although the model has its client's API. */
  get translates(): boolean {
    return this.#names.has(formName);
  }

  /** An outcome for the client. Its own API's words stay where no translation has helped. */
  reported<Outcome>(outcome: Outcome): Outcome | ProviderFailure {
    const isRefused = outcome instanceof AppError || wordsOf(outcome) !== null;
    return this.translates && isRefused && this.#asWritten !== null ? this.#asWritten : outcome;
  }

  /** Whether the outcome of an attempt refuses what the attempt had. The next one lacks it. */
  isNeededAfter(outcome: unknown, model: Model): boolean {
    const words = wordsOf(outcome);
    if (words === null) return false;
    const { providers, tenantId } = this.#options;
    const { api } = this.#options;
    const isNew = (name: string): boolean => !this.#names.has(name);
    const hints = providers.get(model).adapter.fits(model) ? hintsIn(words) : [];
    const history = api === null ? [] : historyMendsFor(words);
    const vendor = this.isOfVendor && vendorHints.test(words) ? [vendorName] : [];
    const forms = [...hints, ...history, ...vendor, ...this.#missing(words, model)].filter(isNew);
    const unread =
      api !== null && readsSignatures(api, model) && unreadable.test(words)
        ? [reasoningName].filter(isNew)
        : [];
    providers.refused.add(model, tenantId, forms);
    const causes = [...forms, ...unread];
    const all = causes.length > 0 ? causes : this.#form(outcome, model);
    this.#newNames = [...this.#newNames, ...all];
    return all.length > 0;
  }

  /**
   * A fallback with the client's API gets the request as it was written for another model, and may lack forms that this
   * one has, such as system texts in the middle, or adaptive thinking.
   */
  #form(outcome: unknown, model: Model): string[] {
    const { api, request, target } = this.#options;
    if (request?.operation !== 'chat' || request.compaction !== undefined || model.api !== api) return [];
    if (!(outcome instanceof ProviderFailure) || outcome.details.status !== 400) return [];
    if (this.translates || target?.chain[0] === model) return [];
    this.#asWritten = outcome;
    return [formName];
  }

  /** The next way to fill in reasoning. */
  #missing(words: string, model: Model): string[] {
    const { api } = this.#options;
    if (api === null || model.api === api || !demand.test(words)) return [];
    const sent = this.reasoningFill ?? (factsBy(model).wantsReasoningText ? 'calls' : null);
    const next = fills[fills.findIndex(([, fill]) => fill === sent) + 1];
    return next === undefined ? [] : [next[0]];
  }
}

/** Names of the hints and betas refused by the words of a host of Claude. */
function hintsIn(words: string): string[] {
  const [, list = ''] = unexpected.exec(words) ?? [];
  const betas = [...list.matchAll(/`([\w-]{1,100})`/g)].map(([, beta = '']) => beta);
  const places = [...words.matchAll(extraInputs)].slice(0, 10).map(([, place = '']) => place);
  return [
    ...betas.slice(0, 20),
    ...places.flatMap(fieldsAt).map(nameOf),
    ...(invalidFlag.test(words) ? [allBetas] : []),
  ];
}

/** The words of a failure about the request; null for any other outcome. */
function wordsOf(outcome: unknown): string | null {
  if (!(outcome instanceof ProviderFailure) || outcome.kind !== 'status') return null;
  const { status = 0, code = '', message = '' } = outcome.details;
  return concernsRequest(status) ? `${code} ${message}` : null;
}
