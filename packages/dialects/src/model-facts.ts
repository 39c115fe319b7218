import { RecentMap } from '@gatehouse/kit/recent-map';
import { maxKnownNames, maxOriginChars } from './bounds.ts';
import type { FactsRow, KnownFacts } from './known-facts.ts';
import { plainName, versionOf, type ModelFamily, type ModelVersion } from './model-names.ts';
import { defaults, rows } from './model-rows.ts';
import type { LimitName } from './request-additions.ts';

/** Settings of the operator over the facts known by the name, and a fact of the host. */
export interface FactsOverlay {
  /** The name that the rules go by, if it is not the provider's: `family` of the catalogue. */
  rulesName?: string | undefined;
  sampling?: boolean | undefined;
  thinkingOff?: boolean | undefined;
  context1m?: boolean | undefined;
  limitField?: LimitName | undefined;
  /** Whether the host takes `thinking` in chat completions (`takesThinkingAt`). */
  takesThinking?: boolean | undefined;
}

/** Anthropic's beta by which thoughts behind a changed conversation are left out instead of refused. */
export const bindingBeta = 'thinking-binding-controls-2026-08-01';

const byName = new RecentMap<KnownFacts>(maxKnownNames);

/** The facts of a model, by the rules for its name and what the operator says over them. */
export function factsOf({ name, ...overlay }: { name: string } & FactsOverlay): KnownFacts {
  const rulesName = overlay.rulesName ?? name;
  return overlaid(
    byName.getOrMake(rulesName, () => knownFacts(rulesName)),
    overlay,
  );
}

/** The same of a model that must be of a family: one of unknown name has the facts common to the family. */
export function factsAs(family: ModelFamily, model: { name: string } & FactsOverlay): KnownFacts {
  const known = factsOf(model);
  return known.family === family ? known : factsOf({ ...model, rulesName: family });
}

/** The family of a model, by the rules for its name. */
export function familyOf(model: { name: string } & FactsOverlay): ModelFamily {
  return factsOf(model).family;
}

/** The origin of a model's thoughts. Anthropic's are the same in each of its APIs; others are read by their model alone. */
export function originOf(model: { name: string } & FactsOverlay): string {
  if (familyOf(model) === 'claude') return 'anthropic';
  return `converse=${encodeURIComponent(model.name).replaceAll('.', '%2E').slice(0, maxOriginChars)}`;
}

/** Whether a model thinks. `effort`: of the request; null where it names none. */
export function thinksBy(effort: string | null, { thinksByDefault }: KnownFacts): boolean {
  return effort === null ? thinksByDefault : effort !== 'none';
}

/** The rules for a name. */
export function rowsFor(name: string): readonly FactsRow[] {
  const plain = plainName(name);
  const version = versionOf(plain);
  return rows.filter((row) => fits(row, plain, version));
}

function knownFacts(name: string): KnownFacts {
  // The first row with a fact decides it.
  const facts = rowsFor(name).map((row) => row.facts);
  return Object.assign({}, defaults, ...facts.toReversed(), versionOf(plainName(name))) as KnownFacts;
}

function fits(row: FactsRow, plain: string, { family, version }: ModelVersion): boolean {
  const { from = null, to = null, names } = row;
  if (row.family !== family || names?.test(plain) === false) return false;
  if (from === null && to === null) return true;
  return version !== null && version >= (from ?? 0) && version <= (to ?? Infinity);
}

function overlaid(
  known: KnownFacts,
  { sampling, thinkingOff, context1m, limitField, takesThinking }: FactsOverlay,
): KnownFacts {
  const context = context1m === true ? 'beta' : 'none';
  const lacksField = takesThinking !== true && thinkingOff !== true;
  const facts = known.offField === 'thinking' && lacksField ? withoutOff(known) : known;
  return {
    ...facts,
    ...(sampling !== undefined && { sampling: sampling ? 'all' : 'none' }),
    ...(thinkingOff !== undefined && offFacts(facts, thinkingOff)),
    ...(context1m !== undefined && { context1m: { anthropic: context, bedrock: context } }),
    ...(limitField !== undefined && { limitField }),
  };
}

/** The facts of a model at a host without a field to switch its thinking off. */
function withoutOff(facts: KnownFacts): KnownFacts {
  const { offField, thinkingSize } = defaults;
  return { ...facts, offField, thinkingSize };
}

/** `canStop`: whether thinking can be switched off, as the operator says. */
function offFacts({ thinkingOff, thinkingSize: size }: KnownFacts, canStop: boolean): Partial<KnownFacts> {
  const isUnknown = thinkingOff === 'never' && canStop;
  const words = size.by === 'effort' ? size.words.filter((word) => word !== 'none') : [];
  return {
    thinkingOff: isUnknown ? 'disabled' : canStop ? thinkingOff : 'never',
    thinkingSize:
      size.by === 'budget'
        ? { ...size, off: canStop ? 0 : Math.max(leastThinking, size.least) }
        : { ...size, words: canStop ? ['none', ...words] : words },
  };
}

/** The least budget of Google's models that think always. */
const leastThinking = 128;
