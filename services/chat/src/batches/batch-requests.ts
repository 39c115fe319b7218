import type { AllowedModels } from '@gatehouse/contract/allowed-models';
import { AppError } from '@gatehouse/kit/errors';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { deploymentsOf, type Catalogue, type Model } from '../catalogue/catalogue.ts';
import {
  forOnePayer,
  agentRef,
  modelNotFound,
  modelTarget,
  refuseOtherModels,
  type Choosing,
  type Target,
} from '../catalogue/target.ts';
import { nearestModels } from '../catalogue/nearest-models.ts';
import type { CompletionRequest, Operation, Rewrite } from '@gatehouse/dialects/dialect';
import type { OtherModel } from '@gatehouse/dialects/request-fields';
import { mostTokens } from '../limits/upper-bounds.ts';
import type { TenantSettings } from '../shared/tenant-settings.ts';
import { sumTools, type FeeTool } from '@gatehouse/dialects/usage/fee-tools';
import type { TokenClass } from '@gatehouse/dialects/usage/usage';
import type { BatchApiName } from './batch-api.ts';
import { hash } from 'node:crypto';
import type { Share } from '@gatehouse/dialects/wire/request-text';

/** Requests of batches as their providers get them: with the name of the model there. */

/** The memory of requests is bounded by the uploads and the checks at a time. */
export const noShare: Share = { release: () => undefined };

export const unchanged: Omit<Rewrite, 'model'> = {
  ...{ includeUsage: false, systemPrompt: null, reference: null, defaults: {}, maxTokens: null, tools: null },
};

/** The calls of a batch, as they are priced. */
export const inBatch = { serviceTier: null, inBatch: true } as const;

/** The operation of a request in a batch, and its API. */
export interface BatchKind {
  operation: Operation;
  api: 'chat' | 'responses' | 'messages';
}

/** Providers with batches of requests in an API. */
const batchApis: Readonly<Record<BatchKind['api'], BatchApiName>> = {
  chat: 'openai',
  responses: 'openai',
  messages: 'anthropic',
};

/** By the URLs of requests in batches, as OpenAI has them. */
export const kindsByUrl: ReadonlyMap<string, BatchKind> = new Map([
  ['/v1/chat/completions', { operation: 'chat', api: 'chat' }],
  ['/v1/embeddings', { operation: 'embeddings', api: 'chat' }],
  ['/v1/responses', { operation: 'chat', api: 'responses' }],
]);

/** The requests of a file, as they are stored with it. */
export interface BatchRequests {
  /** As the requests name it. */
  model: string;
  upstreamModel: string;
  url: string;
  count: number;
  /** The most tokens all together may use, and the longest prompt. */
  most: { input: number; output: number; longest: number };
  /** Classes of tokens beside text. */
  classes: TokenClass[];
  /** Requests with a cost known only to the provider. Missing in files of the release before. */
  unmeasured?: number;
  /** Tools of the provider with a fee, with the most calls of all requests. Missing in files of the release before. */
  feeTools?: readonly FeeTool[];
  /** Requests offering these tools. Missing in files of the release before. */
  withFees?: number;
  /** The guardrails by which they were checked, with their versions. Missing without any. */
  guardrails?: readonly string[];
}

/** The requests of Anthropic's batches. */
export const messagesKind = { operation: 'chat', api: 'messages' } as const satisfies BatchKind;
export const messagesUrl = '/v1/messages';

/** Tools carried out by clients themselves. All others are the provider's own. Anthropic's need no type. */
const clientTools: ReadonlySet<unknown> = new Set(['function', 'custom', undefined]);
/** Anthropic's names of some, with their version. */
const clientToolPattern = /^(bash|text_editor|computer|memory)_\d{8}$/;

function isClientTool({ type }: Fields): boolean {
  return clientTools.has(type) || (typeof type === 'string' && clientToolPattern.test(type));
}

/**
 * Whether only the provider knows the cost of a request: how much it reads in pictures and files, and how often it calls
 * its own tools, each for a fee.
 */
function isUnmeasured(request: CompletionRequest, fields: Fields): boolean {
  const { tools, web_search_options: search, mcp_servers: servers } = fields;
  if (isFields(search) || listOf(servers).length > 0 || request.requestedAmounts({}).attachments.count > 0)
    return true;
  return listOf(tools).some((tool) => isFields(tool) && !isClientTool(tool));
}

/** Whether neither a request nor the catalogue limits its answer: what is reserved for it is a guess. */
function isUnlimited(request: CompletionRequest, { max_output_tokens: most }: Model): boolean {
  return (
    request.operation !== 'embeddings' &&
    most === undefined &&
    request.requestedAmounts({}).maxTokens === null
  );
}

/** A deployment for the requests of a batch. */
export interface BatchTarget extends Target {
  /** Throws for models that the tenant may not use; absent where it may use all. */
  refuseOthers?: (models: readonly OtherModel[]) => void;
}

/** The deployment for a batch, and its payer. */
export function batchTarget(
  catalogue: Catalogue,
  name: string,
  batch: { api: BatchKind['api']; settings: TenantSettings; userId: string | null; choosing: Choosing },
): BatchTarget {
  if (agentRef(name) !== null)
    throw new AppError('unsupported_parameter', 'Batches name models; an agent has none.', {
      param: 'model',
    });
  const { api, settings, userId, choosing } = batch;
  const target = modelTarget(catalogue, name, settings.allowedModels, choosing);
  const paid = forOnePayer(target, { keys: settings.ownKeys, userId });
  const { id } = paid.chain[0];
  const first = paid.chain.find((model) => model.id === id && hasBatches(model, api));
  if (first === undefined)
    throw new AppError('unsupported_parameter', `The model ${id} has no batches in this API.`, {
      param: 'model',
    });
  const refuseOthers = (models: readonly OtherModel[]): void =>
    refuseOtherModels(catalogue, models, { allowed: settings.allowedModels, deployments: [first] });
  return { ...paid, chain: [first], refuseOthers };
}

function hasBatches(model: Model, api: BatchKind['api']): boolean {
  return model.provider.kind === batchApis[api] && model.api === api;
}

/** Deployment a file was uploaded for. Throws `model_not_found` where the tenant may no longer use it. */
export function deploymentOf(
  catalogue: Catalogue,
  { model: name, upstreamModel }: BatchRequests,
  { provider, allowed }: { provider: string; allowed: AllowedModels | null },
): Model {
  const model = catalogue.find(name, allowed);
  const deployment = (model === undefined ? [] : deploymentsOf(model)).find(
    (each) => each.provider.name === provider && each.upstreamModel === upstreamModel,
  );
  if (deployment === undefined) throw modelNotFound(name, nearestModels(catalogue, name, allowed));
  return deployment;
}

/** Throws a 400 for a request continuing something the gateway keeps, which no provider has, or a thread of a key. */
function refuseKept({ state, compaction }: CompletionRequest, { thread }: Fields): void {
  if (isFields(thread))
    throw new AppError('unsupported_parameter', 'Requests of a batch have no thread.', { param: 'thread' });
  if (state === undefined) return;
  const { previousId, references, summaries } = state;
  const isOwn = previousId === null && references.size === 0 && summaries.size === 0;
  if (isOwn && compaction === undefined) return;
  throw new AppError('unsupported_parameter', 'Requests of a batch go on from no earlier response.', {
    param: previousId === null ? 'input' : 'previous_response_id',
  });
}

/** Adds requests up. */
export class RequestSum {
  readonly #target: BatchTarget;
  readonly #name: string;
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #classes = new Set<TokenClass>();
  #count = 0;
  #input = 0;
  #output = 0;
  #longest = 0;
  #unmeasured = 0;
  #feeTools: readonly FeeTool[] = [];
  #withFees = 0;

  /** `headers`: those of the client its API passes on. */
  constructor(
    target: BatchTarget,
    { model, url, headers = {} }: { model: string; url: string; headers?: Readonly<Record<string, string>> },
  ) {
    this.#target = target;
    this.#name = model;
    this.#url = url;
    this.#headers = headers;
  }

  /** Throws a 400 for a request with another model or URL than those before. `fields`: its members. */
  add(request: CompletionRequest, url: string, fields: Fields): void {
    if (request.model !== this.#name)
      throw new AppError('invalid_value', 'All requests of a batch must have the same model.', {
        param: 'model',
      });
    if (url !== this.#url)
      throw new AppError('invalid_value', 'All requests of a batch must have the same url.', {
        param: 'url',
      });
    if (request.stream)
      throw new AppError('unsupported_parameter', 'Requests of a batch are not streamed.', {
        param: 'stream',
      });
    refuseKept(request, fields);
    this.#target.refuseOthers?.(request.otherModels({}));
    const [most] = mostTokens(request, this.#target, this.#headers);
    if (most === undefined) throw new Error('a target has one model at least');
    this.#count += 1;
    this.#input += most.input;
    this.#output += most.output;
    this.#longest = Math.max(this.#longest, most.input);
    if (isUnmeasured(request, fields) || isUnlimited(request, this.model)) this.#unmeasured += 1;
    for (const name of most.classes) this.#classes.add(name);
    if (most.feeTools === undefined || most.feeTools.length === 0) return;
    this.#feeTools = sumTools(this.#feeTools, most.feeTools);
    this.#withFees += 1;
  }

  get model(): Model {
    return this.#target.chain[0];
  }

  get target(): Target {
    return this.#target;
  }

  get sum(): BatchRequests {
    return {
      model: this.#name,
      upstreamModel: this.model.upstreamModel,
      url: this.#url,
      count: this.#count,
      most: { input: this.#input, output: this.#output, longest: this.#longest },
      classes: [...this.#classes],
      unmeasured: this.#unmeasured,
      ...(this.#withFees > 0 && { feeTools: this.#feeTools, withFees: this.#withFees }),
    };
  }
}

/** Names of a batch's requests, given by clients. */
export class CustomIds {
  readonly #known = new Set<string>();

  get size(): number {
    return this.#known.size;
  }

  /** Returns whether it is a new one. */
  add(id: string): boolean {
    const { size } = this.#known;
    // Hashes have the same size, however long the names are.
    return this.#known.add(hash('sha256', id, 'base64').slice(0, 22)).size > size;
  }
}
