import type { Fields } from '@gatehouse/kit/fields';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { KnownFacts } from '@gatehouse/dialects/known-facts';
import { factsOf, familyOf, thinksBy, type FactsOverlay } from '@gatehouse/dialects/model-facts';
import {
  limitNameAt,
  limitNames,
  type LimitName,
  type TokenLimit,
} from '@gatehouse/dialects/request-additions';
import type { UpstreamApi } from '@gatehouse/dialects/upstream-api';
import { modelFamilies } from '@gatehouse/dialects/model-names';
import { traitsOf, type Provider } from './provider-schema.ts';

/** The settings of a model in place of facts known by its name. */
interface SetFacts {
  upstreamModel: string;
  family?: string | undefined;
  sampling?: boolean | undefined;
  thinking_off?: boolean | undefined;
  context_1m?: boolean | undefined;
  max_tokens_field?: LimitName | undefined;
}

/** A model by the provider's name, with what the catalogue says over the rules for this name. */
export function overlayOf(model: SetFacts): { name: string } & FactsOverlay {
  return {
    name: model.upstreamModel,
    rulesName: model.family,
    sampling: model.sampling,
    thinkingOff: model.thinking_off,
    context1m: model.context_1m,
    limitField: model.max_tokens_field,
  };
}

const composed = new WeakMap<SetFacts, KnownFacts>();

/** The facts of a model of the catalogue, which never changes. */
export function factsBy(model: SetFacts): KnownFacts {
  let facts = composed.get(model);
  if (facts === undefined) composed.set(model, (facts = factsOf(overlayOf(model))));
  return facts;
}

/** The name that the rules for a model go by. */
export function rulesNameOf({ family, upstreamModel }: Pick<SetFacts, 'family' | 'upstreamModel'>): string {
  return family ?? upstreamModel;
}

/** The name of the limit of an answer in chat completions: the model's own, else the one its host takes for all models. */
export function limitFieldOf(model: SetFacts & { provider: { base_url: string } }): LimitName {
  return factsBy(model).limitField ?? limitNameAt(model.provider.base_url);
}

const samplingNames = ['temperature', 'top_p', 'top_k', 'presence_penalty', 'frequency_penalty', 'seed'];

/**
 * The parameters of an agent as a model takes them, in the client's own API: without sampling and stop
 * sequences that it refuses, and with its name of the limit. `ignored`: names of those left out.
 */
export function takenDefaults(
  model: SetFacts,
  { target, request }: { target: { defaults: Fields }; request: Pick<AcceptedRequest, 'thinking'> },
): { defaults: Fields; ignored: string[] } {
  const { defaults: parameters } = target;
  const { effort } = request.thinking(parameters);
  const facts = factsBy(model);
  const { sampling, limitField, takesStop } = facts;
  const isTaken = sampling === 'all' || (sampling === 'offOnly' && !thinksBy(effort, facts));
  const refused = [...(isTaken ? [] : samplingNames), ...(takesStop ? [] : ['stop'])];
  const ignored = refused.filter((name) => name in parameters);
  const entries = Object.entries(parameters).flatMap(([name, value]) => {
    const isLimit = limitField !== null && (limitNames as readonly string[]).includes(name);
    return ignored.includes(name) ? [] : [[isLimit ? limitField : name, value] as const];
  });
  return { defaults: Object.fromEntries(entries), ignored };
}

/** The limit of an answer, lowered to `most` and to what the model has. */
export function tokenLimitOf(
  model: SetFacts & { provider: { base_url: string }; max_output_tokens?: number | undefined },
  most: number,
): TokenLimit {
  return { most: Math.min(most, model.max_output_tokens ?? Infinity), field: limitFieldOf(model) };
}

/**
 * The name that gives a model its facts if the provider's is an ARN that names no model: the first of the catalogue's
 * names with a known family, else that of all models with the API at such a provider. Undefined for any other model.
 */
export function familyBehind(
  { upstreamModel, api, kind }: { upstreamModel: string; api: UpstreamApi; kind: Provider['kind'] },
  names: readonly string[],
): string | undefined {
  return isNameless({ upstreamModel })
    ? (names.find(isKnownFamily) ?? traitsOf(kind).families?.get(api))
    : undefined;
}

/** Whether neither the catalogue nor the provider's name, an ARN, says a model's family. */
export function isNameless({ upstreamModel, family }: Pick<SetFacts, 'upstreamModel' | 'family'>): boolean {
  return family === undefined && upstreamModel.startsWith('arn:') && !isKnownFamily(upstreamModel);
}

export function isKnownFamily(family: string): boolean {
  return familyOf({ name: family }) !== 'other';
}

export const unknownFamily = `must be a public name of a model, or of a family: ${modelFamilies.join(', ')}`;
