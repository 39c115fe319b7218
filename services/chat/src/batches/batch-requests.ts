import type { AllowedModels } from '@gatehouse/contract/allowed-models';
import { AppError } from '@gatehouse/kit/errors';
import { deploymentsOf, type Catalogue, type Model } from '../catalogue/catalogue.ts';
import { ofOnePayer } from '../catalogue/payer.ts';
import { agentRef, modelNotFound, modelTarget, type Choosing, type Target } from '../catalogue/target.ts';
import type { CompletionRequest, Operation } from '../dialects/dialect.ts';
import { mostTokens } from '../limits/bounds.ts';
import type { TenantSettings } from '../shared/tenant-settings.ts';
import type { TokenClass } from '../usage/usage.ts';

/** The URLs of requests in batches, as OpenAI has them, and what each asks for. */
export const operationOf: ReadonlyMap<string, Operation> = new Map([
  ['/v1/chat/completions', 'chat'],
  ['/v1/embeddings', 'embeddings'],
]);

/** The requests of a file, as they are stored with it. */
export interface BatchRequests {
  /** As the requests name it. */
  model: string;
  upstreamModel: string;
  url: string;
  count: number;
  /** The most tokens that all together may use, and the longest prompt. */
  most: { input: number; output: number; longest: number };
  /** Classes of tokens beside text. */
  classes: TokenClass[];
}

/** The deployment for a batch, and its payer. */
export function batchTarget(
  catalogue: Catalogue,
  name: string,
  asked: { settings: TenantSettings; userId: string | null; choosing: Choosing },
): Target {
  if (agentRef(name) !== null)
    throw new AppError('unsupported_parameter', 'Batches name models; an agent has none.', {
      param: 'model',
    });
  const { settings, userId, choosing } = asked;
  const target = modelTarget(catalogue, name, settings.allowedModels, choosing);
  const paid = ofOnePayer(target, { keys: settings.ownKeys, userId });
  const { id } = paid.chain[0];
  const first = paid.chain.find((model) => model.id === id && hasBatches(model));
  if (first === undefined)
    throw new AppError('unsupported_parameter', `The model ${id} has no batches in this API.`, {
      param: 'model',
    });
  return { ...paid, chain: [first] };
}

function hasBatches({ provider, api }: Model): boolean {
  return provider.kind === 'openai' && api === 'chat';
}

/** The deployment that a file was uploaded for. Throws `model_not_found` where the tenant may no longer use it. */
export function deploymentOf(
  catalogue: Catalogue,
  { model: name, upstreamModel }: BatchRequests,
  { provider, allowed }: { provider: string; allowed: AllowedModels | null },
): Model {
  const model = catalogue.find(name, allowed);
  const found = (model === undefined ? [] : deploymentsOf(model)).find(
    (each) => each.provider.name === provider && each.upstreamModel === upstreamModel,
  );
  if (found === undefined) throw modelNotFound(name);
  return found;
}

/** Adds requests up. */
export class RequestSum {
  readonly #target: Target;
  readonly #name: string;
  readonly #url: string;
  readonly #classes = new Set<TokenClass>();
  #count = 0;
  #input = 0;
  #output = 0;
  #longest = 0;

  constructor(target: Target, { model, url }: { model: string; url: string }) {
    this.#target = target;
    this.#name = model;
    this.#url = url;
  }

  /** Throws a 400 for a request that differs from those before in model or URL. */
  add(request: CompletionRequest, url: string): void {
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
    const [most] = mostTokens(request, this.#target);
    if (most === undefined) throw new Error('a target has one model at least');
    this.#count += 1;
    this.#input += most.input;
    this.#output += most.output;
    this.#longest = Math.max(this.#longest, most.input);
    for (const name of most.classes) this.#classes.add(name);
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
    };
  }
}
