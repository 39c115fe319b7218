import type { ApiName } from '@gatehouse/dialects/dialects';
import type { ReasoningFill } from '@gatehouse/dialects/translation/api';
import type { Model } from '../catalogue/catalogue.ts';
import type { Mend } from './missing-methods.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { RefusedNames } from './refused-names.ts';
import { readsSignatures } from './signature-origins.ts';

/** The words of OpenAI (https://github.com/openai/codex/issues/36704) and of Google. */
const unreadable =
  /invalid_encrypted_content|encrypted content\b.{0,200}could not be (?:verified|decrypted)|(?:corrupted|invalid) thought.?signature|thought.?signature is (?:in|not )valid/is;

/**
 * Requests to be sent once more without reasoning that no account of their provider can read: Codex does not recover by
 * itself, so its thread would be dead.
 */
export class UnreadableReasoning implements Mend {
  readonly #api: ApiName;
  readonly #models = new Set<Model>();

  constructor(api: ApiName) {
    this.#api = api;
  }

  has(model: Model): boolean {
    return this.#models.has(model);
  }

  isNeededAfter(outcome: unknown, model: Model): boolean {
    if (this.has(model) || !readsSignatures(this.#api, model)) return false;
    const isRefused = saysInvalid(outcome, unreadable);
    if (isRefused) this.#models.add(model);
    return isRefused;
  }
}

/** How reasoning is filled in, from the least to the most, with the name of each in what a deployment refuses. */
const fills: readonly (readonly [name: string, fill: ReasoningFill])[] = [
  ['reasoning_content.calls', 'calls'],
  ['reasoning_content.all', 'all'],
  ['reasoning_content.space', 'space'],
];
const demand = /\breasoning_content\b/;

/** The way in which a deployment wants reasoning filled in, by the ways it has refused; undefined before. */
export function fillAfter(refused: ReadonlySet<string>): ReasoningFill | undefined {
  return fills.findLast(([name]) => refused.has(name))?.[1];
}

/**
 * Translated requests to be sent once more with an empty `reasoning_content`: Kimi and DeepSeek want it beside calls,
 * also those of other models (https://github.com/MoonshotAI/kimi-cli/issues/2141).
 */
export class MissingReasoning implements Mend {
  readonly #api: ApiName;
  readonly #refused: RefusedNames;
  readonly #tenantId: string;

  constructor(api: ApiName, refused: RefusedNames, tenantId: string) {
    this.#api = api;
    this.#refused = refused;
    this.#tenantId = tenantId;
  }

  isNeededAfter(outcome: unknown, model: Model): boolean {
    if (model.api === this.#api || !saysInvalid(outcome, demand)) return false;
    const known = this.#refused.namesOf(model, this.#tenantId);
    const next = fills.find(([name]) => !known.has(name));
    return next !== undefined && this.#refused.add(model, this.#tenantId, [next[0]]);
  }
}

function saysInvalid(outcome: unknown, words: RegExp): boolean {
  if (!(outcome instanceof ProviderFailure) || outcome.kind !== 'status') return false;
  const { status, code = '', message = '' } = outcome.details;
  return status === 400 && words.test(`${code} ${message}`);
}
