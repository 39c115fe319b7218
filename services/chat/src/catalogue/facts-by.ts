import type { KnownFacts } from '@gatehouse/dialects/known-facts';
import { factsOf, familyOf, type FactsOverlay } from '@gatehouse/dialects/model-facts';
import { limitNameAt, type LimitName } from '@gatehouse/dialects/request-additions';
import { modelFamilies } from '@gatehouse/dialects/model-names';

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

/** The facts of a model of the catalogue. */
export function factsBy(model: SetFacts): KnownFacts {
  return factsOf(overlayOf(model));
}

/** The name of the limit of an answer in chat completions: the model's own, else the one its host takes for all models. */
export function limitFieldOf(model: SetFacts & { provider: { base_url: string } }): LimitName {
  return factsBy(model).limitField ?? limitNameAt(model.provider.base_url);
}

export function isKnownFamily(family: string): boolean {
  return familyOf({ name: family }) !== 'other';
}

export const unknownFamily = `must be a public name of a model, or of a family: ${modelFamilies.join(', ')}`;
