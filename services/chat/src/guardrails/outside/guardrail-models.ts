import type { AllowedModels } from '@gatehouse/contract/allowed-models';
import type { CompletionRequest } from '@gatehouse/dialects/dialect';
import { dialects } from '@gatehouse/dialects/dialects';
import type { AnswerBudget, AnswerRoom } from '@gatehouse/kit/answer-budget';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { forOnePayer, soleTarget, targetIn, type Target } from '../../catalogue/target.ts';
import type { Admission } from '../../limits/admission.ts';
import { answerBounds } from '../../limits/hidden-tokens.ts';
import { ProviderChain } from '../../providers/provider-chain.ts';
import type { ProviderRegistry } from '../../providers/registry.ts';
import type { ActiveRun } from '../../recording/active-run.ts';
import type { Guardrail } from '../../policies/guardrail.ts';
import type { TenantProviderKey } from '../../shared/tenant-settings.ts';
import { maxGuardrailCalls } from '../../bounds.ts';
import { OutsideFailure, type ModelAnswer, type ModelCalls, type ModelRequest } from './outside-check.ts';

/** A call of a model for a guardrail, before limits are checked. */
export interface GuardrailCall {
  request: CompletionRequest;
  target: Target;
  signal: AbortSignal;
}

export interface GuardrailModelsOptions {
  catalogue: Pick<Catalogue, 'find'>;
  providers: ProviderRegistry;
  answers: AnswerBudget;
  /** The paying run. */
  run: Pick<ActiveRun, 'beside'>;
  tenantId: string;
  userId: string | null;
  allowedModels: AllowedModels | null;
  ownKeys: readonly TenantProviderKey[];
  /** Admits a call by the limits of the run, beside the calls for its answer. Throws as `Limiter.admit` does. */
  admit: (call: GuardrailCall) => Promise<Admission>;
}

/** The calls of models for all guardrails of one run. */
export class GuardrailModels {
  readonly #options: GuardrailModelsOptions;
  #calls = 0;

  constructor(options: GuardrailModelsOptions) {
    this.#options = options;
  }

  /** The calls for one guardrail. `charged` gets what each attempt costs. */
  callsOf(guardrail: Pick<Guardrail, 'isOwner'>, charged: (costPico: bigint) => void): ModelCalls {
    return { call: (request) => this.#call(request, guardrail, charged) };
  }

  async #call(
    request: ModelRequest,
    guardrail: Pick<Guardrail, 'isOwner'>,
    charged: (costPico: bigint) => void,
  ): Promise<ModelAnswer> {
    this.#calls += 1;
    if (this.#calls > maxGuardrailCalls) throw new OutsideFailure('failed');
    let costPico = 0n;
    try {
      const bytes = await this.#answer(request, guardrail, (attemptPico) => {
        costPico += attemptPico;
        charged(attemptPico);
      });
      return { bytes, costPico };
    } catch (cause) {
      request.signal.throwIfAborted();
      throw cause instanceof OutsideFailure ? cause : new OutsideFailure('failed', { cause });
    }
  }

  async #answer(
    { operation, fields, signal }: ModelRequest,
    { isOwner }: Pick<Guardrail, 'isOwner'>,
    charged: (costPico: bigint) => void,
  ): Promise<Buffer> {
    const { providers, answers, run, tenantId, admit } = this.#options;
    const request = dialects.chat.readRequest(operation, Buffer.from(JSON.stringify(fields)), fields);
    const target = this.#targetOf(request, isOwner);
    const admission = await admit({ request, target, signal });
    let room = null as AnswerRoom | null;
    try {
      const chain = new ProviderChain({
        api: 'chat',
        ...{ request, source: request.source(noShare), target, forms: new Set(), tenantId },
        ...{ providers, keepsText: false, maxTokens: null, headers: {}, signatures: null },
        ...{ thoughts: new Map(), leftOut: [], unpricedTools: () => [] },
        record: run.beside({
          ...{ operation, admission, charged, bounds: answerBounds(request, target, {}) },
          prompt: () => request.promptSample(),
        }),
        receiver: {
          ...{ signal, begun: false, streamAccepted: () => undefined },
          openRoom: () => {
            room?.close();
            room = answers.open(tenantId);
            return room;
          },
        },
      });
      const answer = await chain.answer();
      if (answer.kind !== 'object') throw new Error('the answer to a guardrail was streamed');
      return answer.bytes;
    } finally {
      room?.close();
      admission.release();
    }
  }

  /** The one model: neither its fallbacks nor the tenant's list of models change who reads a text. */
  #targetOf(request: CompletionRequest, isOwner: boolean): Target {
    const { catalogue, providers, allowedModels, ownKeys, userId } = this.#options;
    const model = catalogue.find(request.model, isOwner ? null : allowedModels);
    if (model === undefined) throw new OutsideFailure('failed');
    const deploymentOrder = (each: typeof model) => providers.deploymentOrder(each, null);
    const target = soleTarget(model, { affinity: null, deploymentOrder });
    return targetIn('chat', forOnePayer(target, { keys: isOwner ? [] : ownKeys, userId }), request);
  }
}

/** Texts for checks are bounded by the request with them. */
const noShare = { release: () => undefined };
