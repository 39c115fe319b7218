import type { RequestHead, Rewrite } from '@gatehouse/dialects/dialect';
import type { ApiName } from '@gatehouse/dialects/dialects';
import { concernsRequest } from '@gatehouse/dialects/provider-errors';
import type { ReasoningFill } from '@gatehouse/dialects/reasoning-rewrite';
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
import { signatureName } from './refused-names.ts';
import { vendorOf } from './signature-origins.ts';

/** Vertex AI names the betas that it refuses (https://github.com/vercel/ai/issues/10981). */
const unexpected = /Unexpected value\(s\) (.{1,1500}?) for the `anthropic-beta` header/s;
/** Bedrock does not (https://github.com/BerriAI/litellm/issues/19984). */
const invalidFlag = /\binvalid beta flag\b/i;
/** Both name the place of a field that they refuse (https://github.com/anthropics/claude-code-action/issues/1005). */
const extraInputs = /([\w.]{1,200}): Extra inputs are not permitted/g;

/**
 * Words about reasoning that no account of the provider reads, by the vendor of the model:
 * https://github.com/openai/codex/issues/36704 (OpenAI), https://github.com/Wei-Shaw/sub2api/issues/4535 and
 * https://github.com/chenyme/grok2api/issues/688 (xAI), https://github.com/google-gemini/gemini-cli/issues/13467,
 * https://github.com/decolua/9router/issues/301 and https://github.com/lbjlaq/Antigravity-Manager/pull/3342 (Google),
 * https://github.com/anthropics/claude-code/issues/10627 (Anthropic).
 */
const unreadable: Readonly<Record<string, RegExp>> = {
  openai:
    /invalid_encrypted_content|encrypted.?content\b.{0,200}could not be (?:verified|decrypted)|could not (?:decrypt|decode) the (?:provided encrypted.?content|compaction blob)/is,
  google:
    /(?:corrupted|invalid) thought.?signature|thought.?signature is (?:in|not )valid|thought.?signature\b.{0,100}base64/is,
  anthropic:
    /invalid `?(?:signature|data)`? in `?(?:redacted_)?thinking|thinking`? blocks? .{0,100}cannot be modified/is,
};
/** Clients of Anthropic's API mend these requests by its words. */
const mendedByClients = 'messages';

/** How reasoning is filled in, from the least to the most. */
const fills: readonly ReasoningFill[] = ['none', 'calls', 'all', 'space'];
const reasoningField = /\breasoning_content\b/;
/** Words of servers that refuse the field itself, as Groq, Cerebras and Mistral do. */
const refusedField =
  /\breasoning_content\b[`'")]{0,2}(?: field| parameter| property)?(?::| is| was| are)? {0,2}(?:unsupported|not (?:supported|permitted|allowed)(?! to be)|unexpected|unrecognized|extra (?:inputs|fields))|\b(?:unknown|unsupported|unexpected|unrecognized|extra) (?:request |keyword |input )?(?:name|field|parameter|property|argument|key)s?(?: supplied)?:? {0,2}[`'"]?(?:[\w.[\]]{1,100}\.)?reasoning_content\b/i;
/** Words of checks of a schema, which name the field anywhere: vLLM's, Mistral's and Fireworks'. */
const excessField = /\bextra_forbidden\b|\bextra (?:inputs|fields)\b|\bnot permitted\b/i;
/** Words about a part of a content by the name of the field, as of a text. */
const namedPart = /\bunknown variant\b|\b(?:input tag|invalid value|type)\W{1,4}reasoning_content\b/i;

/** Hints of the client's vendor, which a model without a name may not have. */
const vendorName = 'hints.vendor';
const vendorHints =
  /prompt caching|extraneous key|\bthinking\b.{0,60}\b(?:unsupported|not (?:supported|permitted|allowed|available))\b|(?:\bnot|n't) support\b.{0,40}\bthinking\b/i;
/** Words about the texts or the length of a request, which are the same in any form. */
const sameInAnyForm =
  /\bcontext.?(?:length|window|limit)|\b(?:input|prompt) is too long\b|\btoo many (?:input )?tokens\b|\bcontent.?(?:filter|policy)|\bcould not process image\b|\bimage exceeds\b/i;
/** The own form may have a lower limit of the answer. */
const limitField = /\bmax_(?:completion_|output_)?tokens\b/i;
const fillName = (fill: ReasoningFill): string => `reasoning_content.${fill}`;
/** The beginning of names refused of a count. A host may take in calls what it refuses there. */
const countPrefix = 'count:';

export interface RefusalsOptions {
  /** The API of the client; null for a count, of which hints and betas alone can be left out. */
  api: ApiName | null;
  tenantId: string;
  providers: Pick<ProviderRegistry, 'get' | 'refused'>;
  request?: Pick<RequestHead, 'operation' | 'compaction'>;
  target?: Pick<Target, 'chain'>;
  /** Models with the client's API that take its request in their own form alone, as calls of its run have found. */
  forms?: Set<Model>;
}

/**
 * Refusals of one request that the same request without their cause is sent once more for, to the same model: hints and
 * betas, forms of a history, reasoning that no account of the provider reads, and missing reasoning. Later requests begin
 * without the causes once a call without them ended with an answer, as words alone may be an echo of the client's; without
 * hints also once it ended with a limit or an error of the server.
 */
export class Refusals {
  readonly #options: RefusalsOptions;
  readonly #forms: Set<Model>;
  #model: Model | null = null;
  /** Names refused by the model in this run. */
  #newNames: readonly string[] = [];
  /** Those of them which change no meaning of the request. */
  #newHints: readonly string[] = [];
  #names: ReadonlySet<string> = new Set();
  /** The refusal of the request as its client wrote it. */
  #asWritten: ProviderFailure | null = null;
  /** The last signature that the attempt sends. */
  #lastSignature: string | null = null;
  #leavesReasoning = false;

  constructor(options: RefusalsOptions) {
    this.#options = options;
    this.#forms = options.forms ?? new Set();
  }

  /** Begins an attempt. It lacks the same until it ends, whatever other requests find meanwhile. */
  begin(model: Model): void {
    if (model !== this.#model) {
      this.#newNames = [];
      this.#newHints = [];
    }
    this.#model = model;
    const isNew = (name: string): boolean => this.#newNames.includes(name);
    this.#names = new Set([...this.#known(model).filter((name) => !isNew(name)), ...this.#newNames]);
    this.#lastSignature = null;
    this.#leavesReasoning = false;
  }

  /** A count also lacks what was refused of calls. */
  #known(model: Model): string[] {
    const { api, providers, tenantId } = this.#options;
    const names = [...providers.refused.namesOf(model, tenantId)];
    if (api !== null) return names;
    return names.map((name) => (name.startsWith(countPrefix) ? name.slice(countPrefix.length) : name));
  }

  /** Names of what the attempt leaves out, from the one refused longest ago. */
  get names(): ReadonlySet<string> {
    return this.#names;
  }

  /** How the attempt fills in missing reasoning, by the last refusal; undefined without one. */
  get reasoningFill(): ReasoningFill | undefined {
    const names = [...this.#names];
    return names
      .map((name) => fills.find((fill) => fillName(fill) === name))
      .findLast((fill) => fill !== undefined);
  }

  /** See `CountUnreadable`. Also notes the signatures that are sent. */
  readonly countUnreadable = (signatures: readonly string[]): number => {
    const last = this.#names.size === 0 ? -1 : this.#lastUnreadable(signatures);
    this.#lastSignature = signatures.slice(last + 1).at(-1) ?? null;
    this.#leavesReasoning ||= last >= 0;
    return last + 1;
  };

  /** The changes of a request in the API of its client. */
  get rewrite(): Pick<Rewrite, 'reasoningFill' | 'countUnreadable'> {
    const { reasoningFill, countUnreadable } = this;
    return { reasoningFill, countUnreadable };
  }

  /** Names of the request's parts that the attempt leaves out, for `x-gateway-ignored`. */
  get ignored(): string[] {
    return this.#leavesReasoning ? ['reasoning'] : [];
  }

  /** Whether the attempt takes a model without a name for one of the client's vendor. */
  get isOfVendor(): boolean {
    const { api } = this.#options;
    if (api === null || this.#model === null || this.#names.has(vendorName)) return false;
    return mayBeOfVendor(api, this.#model);
  }

  /** Whether the attempt translates the request although the model has its client's API. */
  get translates(): boolean {
    return this.#model !== null && this.#forms.has(this.#model);
  }

  /** An outcome for the client. Its own API's words stay where no translation has helped. */
  reported<Outcome>(outcome: Outcome): Outcome | ProviderFailure {
    const isRefused = outcome instanceof AppError || wordsOf(outcome) !== null;
    return this.translates && isRefused && this.#asWritten !== null ? this.#asWritten : outcome;
  }

  /** Whether the outcome of an attempt refuses what the attempt had. The next one lacks it. */
  isNeededAfter(outcome: unknown, model: Model): boolean {
    const words = wordsOf(outcome);
    if (words === null) {
      if (isAnswer(outcome)) this.#remember(model, this.#newNames);
      else if (isLimitOrOutage(outcome)) this.#remember(model, this.#newHints);
      return false;
    }
    const { api, providers } = this.#options;
    const hints = providers.get(model).adapter.fits(model) ? hintsIn(words) : [];
    const history = api === null ? [] : historyMendsFor(words, this.#names);
    const vendor = this.isOfVendor && vendorHints.test(words) ? [vendorName] : [];
    const others = [...hints, ...history, ...vendor, ...this.#unreadableIn(words, model)];
    const causes = [
      ...others.filter((name) => !this.#names.has(name)),
      // A later refusal may take back an earlier one, but not in the same run.
      ...this.#fillsIn(words, model).filter((name) => !this.#newNames.includes(name)),
    ];
    this.#newNames = [...this.#newNames, ...causes];
    this.#newHints = [...this.#newHints, ...causes.filter((name) => hints.includes(name))];
    return causes.length > 0 || this.#needsForm(outcome, words, model);
  }

  /** Later requests begin without the causes of this run's refusals. */
  #remember(model: Model, causes: readonly string[]): void {
    const { api, providers, tenantId } = this.#options;
    const prefix = api === null ? countPrefix : '';
    providers.refused.add(
      model,
      tenantId,
      causes.map((name) => `${prefix}${name}`),
    );
  }

  /**
   * A fallback with the client's API gets the request as it was written for another model, and may lack forms that this
   * one has, such as system texts in the middle, or adaptive thinking.
   */
  #needsForm(outcome: unknown, words: string, model: Model): boolean {
    const { api, request, target } = this.#options;
    if (request?.operation !== 'chat' || request.compaction !== undefined || model.api !== api) return false;
    if (!(outcome instanceof ProviderFailure) || outcome.details.status !== 400) return false;
    const first = target?.chain[0];
    const isFirst = first !== undefined && isSameServer(first, model);
    if (isFirst || this.translates) return false;
    if (sameInAnyForm.test(words) && !limitField.test(words)) return false;
    this.#asWritten = outcome;
    this.#forms.add(model);
    return true;
  }

  #lastUnreadable(signatures: readonly string[]): number {
    return signatures.findLastIndex((id) => this.#names.has(signatureName(id)));
  }

  /** The next way to fill in reasoning. */
  #fillsIn(words: string, model: Model): string[] {
    const { api } = this.#options;
    if (api === null || !reasoningField.test(words) || namedPart.test(words)) return [];
    if (refusedField.test(words) || excessField.test(words))
      return this.reasoningFill === 'none' ? [] : [fillName('none')];
    const known = model.api !== api && factsBy(model).wantsReasoningText ? 'calls' : 'none';
    const sent = this.reasoningFill ?? known;
    const next = fills[fills.findIndex((fill) => fill === sent) + 1];
    return next === undefined ? [] : [fillName(next)];
  }

  /** The last signature of the attempt, up to which later ones leave all out. */
  #unreadableIn(words: string, model: Model): string[] {
    if (this.#lastSignature === null) return [];
    const { api } = this.#options;
    if (api === mendedByClients && model.api === api) return [];
    return unreadable[vendorOf(model)]?.test(words) === true ? [signatureName(this.#lastSignature)] : [];
  }
}

/** Whether one server answers for both, with the same rules. */
function isSameServer(one: Model, other: Model): boolean {
  const isSameModel = one.upstreamModel === other.upstreamModel && one.api === other.api;
  return isSameModel && one.provider.base_url === other.provider.base_url;
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

function isAnswer(outcome: unknown): boolean {
  return !(outcome instanceof Error) && outcome !== null;
}

/** Failures that may come before the server has read the request, so they prove little. */
function isLimitOrOutage(outcome: unknown): boolean {
  if (!(outcome instanceof ProviderFailure) || outcome.kind !== 'status') return false;
  const { status = 0, isResting } = outcome.details;
  return isResting !== true && (status === 429 || status >= 500);
}

/** The words of a failure about the request; null for any other outcome. */
function wordsOf(outcome: unknown): string | null {
  if (!(outcome instanceof ProviderFailure) || outcome.kind !== 'status') return null;
  const { status = 0, code = '', param = '', message = '' } = outcome.details;
  return concernsRequest(status) ? `${code} ${param} ${message}` : null;
}
