import type { AllowedModels } from '@gatehouse/contract/allowed-models';
import { nearestNames } from '@gatehouse/kit/nearest-names';
import type { Catalogue, Model } from './catalogue.ts';
import { isPattern } from './model-names.ts';

/** Names of an entry in lists: for a pattern, those in its `list`. */
export function listedNames({ id, aliases, list }: Model): readonly string[] {
  return isPattern(id) ? list : [id, ...aliases];
}

/** The listed names most like one that leads to no model, of those that a tenant may use. */
export function nearestModels(catalogue: Catalogue, name: string, allowed: AllowedModels | null): string[] {
  function* usable(): Generator<string> {
    for (const entry of catalogue.models.values())
      for (const listed of listedNames(entry))
        if (catalogue.find(listed, allowed) !== undefined) yield listed;
  }
  return nearestNames(name, usable());
}
