import { bindingBeta } from '@gatehouse/dialects/model-facts';
import type { Model } from '../catalogue/catalogue.ts';
import { addedTexts, type Target } from '../catalogue/target.ts';
import { factsBy } from '../catalogue/facts-by.ts';
import { betasIn } from './kinds/hosted-messages.ts';

/** The beta of a context of a million tokens (https://platform.claude.com/docs/en/build-with-claude/context-windows). */
const longBeta = 'context-1m-2025-08-07';

/** Kinds of providers that take betas of Anthropic's API, each with what is known of its hosts. */
const hosts: ReadonlyMap<string, 'anthropic' | 'bedrock'> = new Map([
  ['anthropic', 'anthropic'],
  ['vertex', 'anthropic'],
  ['bedrock', 'bedrock'],
]);

const nothing: ReadonlySet<string> = new Set();

/** The betas of Anthropic's API for the calls of one request. */
export class CallBetas {
  readonly #target: Target;
  readonly #isChanged: boolean;
  readonly #headers: Readonly<Record<string, string>>;

  /** `headers`: the client's, as far as its API passes them on. `hasTools`: whether tools of the gateway are added. */
  constructor(target: Target, headers: Readonly<Record<string, string>>, hasTools: boolean) {
    this.#target = target;
    this.#headers = headers;
    this.#isChanged = hasTools || addedTexts(target).length > 0;
  }

  /**
   * Those needed beside the client's, but for what the model has refused. `isTranslated`: whether the gateway writes the
   * whole conversation.
   */
  of(model: Model, isTranslated: boolean, refused: ReadonlySet<string> = nothing): string[] {
    if (factsBy(model).family !== 'claude' || !hosts.has(model.provider.kind)) return [];
    const isLong = this.#context(model) === 'beta';
    const needed = [...(isLong ? [longBeta] : []), ...(this.binds(model, isTranslated) ? [bindingBeta] : [])];
    return needed.filter((beta) => !refused.has(beta));
  }

  /** Whether thoughts behind what the gateway writes or changes are to be left out instead of refused. */
  binds(model: Model, isTranslated: boolean): boolean {
    const isChanged = isTranslated || this.#isChanged;
    return isChanged && factsBy(model).bindsThinking && hosts.has(model.provider.kind);
  }

  /** A long context that was asked for and the model doesn't have, for `x-gateway-ignored`. */
  ignored(model: Model): string[] {
    return this.#context(model) === 'none' ? ['context-1m'] : [];
  }

  headers(model: Model, isTranslated: boolean): Readonly<Record<string, string>> {
    const betas = this.of(model, isTranslated);
    const headers = isTranslated ? {} : this.#headers;
    if (betas.length === 0) return headers;
    return { ...headers, 'anthropic-beta': [...new Set([...betasIn(headers), ...betas])].join(',') };
  }

  /** How a model gets the long context that the request asks for; null for a request that doesn't ask. */
  #context(model: Model): 'native' | 'beta' | 'none' | null {
    if (this.#target.asksLong !== true) return null;
    return factsBy(model).context1m[hosts.get(model.provider.kind) ?? 'anthropic'];
  }
}
