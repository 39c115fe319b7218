import type { AllowedModels } from '@gatehouse/contract/allowed-models';
import { nearestNames } from '@gatehouse/kit/nearest-names';
import type { Catalogue, Model } from './catalogue.ts';
import { isPattern } from './model-names.ts';

/** Names of an entry in lists: for a pattern, those in its `list`. */
export function listedNames({ id, aliases, list }: Model): readonly string[] {
  return isPattern(id) ? list : [id, ...aliases];
}

/** Further names are not looked at: so many take 5 ms. */
const maxNames = 5_000;

/** The listed names most like one that leads to no model, of those that a tenant may use. */
export function nearestModels(catalogue: Catalogue, name: string, allowed: AllowedModels | null): string[] {
  const names = catalogue.models.values().flatMap(listedNames).take(maxNames);
  const usable = names.filter((one) => catalogue.entryOf(one, allowed) !== undefined);
  return nearestNames(name, usable);
}
