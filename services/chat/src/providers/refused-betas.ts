import type { Model } from '../catalogue/catalogue.ts';
import { fieldsAt, nameOf } from './kinds/hosted-fields.ts';
import { allBetas } from './kinds/hosted-messages.ts';
import type { Mend } from './missing-methods.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { ProviderRegistry } from './registry.ts';

/** Vertex AI names the betas that it refuses (https://github.com/vercel/ai/issues/10981). */
const unexpected = /Unexpected value\(s\) (.{1,1500}?) for the `anthropic-beta` header/s;
/** Bedrock does not (https://github.com/BerriAI/litellm/issues/19984). */
const invalidFlag = /\binvalid beta flag\b/i;
/** Both name the place of a field that they refuse (https://github.com/anthropics/claude-code-action/issues/1005). */
const extraInputs = /([\w.]{1,200}): Extra inputs are not permitted/g;

/** Requests with messages to be sent once more to a host of Claude, without what it has refused. */
export class RefusedBetas implements Mend {
  readonly #providers: Pick<ProviderRegistry, 'get' | 'refused'>;
  readonly #tenantId: string;

  constructor(providers: Pick<ProviderRegistry, 'get' | 'refused'>, tenantId: string) {
    this.#providers = providers;
    this.#tenantId = tenantId;
  }

  /** Whether an outcome names betas or hints that are left out from now on. */
  isNeededAfter(outcome: unknown, model: Model): boolean {
    if (!(outcome instanceof ProviderFailure) || !this.#providers.get(model).adapter.fits(model))
      return false;
    const { status, message = '' } = outcome.details;
    const names = outcome.kind === 'status' && status === 400 ? refusedIn(message) : [];
    return this.#providers.refused.add(model, this.#tenantId, names);
  }
}

function refusedIn(message: string): string[] {
  const [, list = ''] = unexpected.exec(message) ?? [];
  const betas = [...list.matchAll(/`([\w-]{1,100})`/g)].map(([, beta = '']) => beta);
  const places = [...message.matchAll(extraInputs)].slice(0, 10).map(([, place = '']) => place);
  return [
    ...betas.slice(0, 20),
    ...places.flatMap(fieldsAt).map(nameOf),
    ...(invalidFlag.test(message) ? [allBetas] : []),
  ];
}
