import type { GraphEdge, Relation } from '@gatehouse/contract/graph';
import { invalidValue } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';

/** Kept versions of a relation with one source, target and type; older ones are removed. */
export const maxVersions = 100;

/** A relation between stored entities, with times in milliseconds since the epoch. */
export interface RelationInput {
  sourceId: string;
  targetId: string;
  type: string;
  /** Undefined members keep the value of the version the input replaces. */
  weight: number | undefined;
  properties: Record<string, unknown> | undefined;
  /** Undefined: from now on, or since the beginning of the version valid now. */
  validFrom: number | undefined;
  /** Null: no end is known. */
  validTo: number | null | undefined;
}

/** A stored version of a relation. */
export interface KnownVersion {
  id: string;
  sourceId: string;
  targetId: string;
  type: string;
  validFrom: number;
  validTo: number | null;
}

/** A version to insert, or the new values of one. */
export interface ChangedVersion extends KnownVersion {
  weight: number | undefined;
  properties: Record<string, unknown> | undefined;
}

export interface UpdatedVersion extends ChangedVersion {
  /** False for one an input has only closed. */
  isReplaced: boolean;
}

export interface RelationPlan {
  inserted: ChangedVersion[];
  updated: UpdatedVersion[];
  /** Ids of versions beyond the newest `maxVersions`. */
  removed: string[];
  /** For each input the id of its version. */
  ids: string[];
  /** Versions replaced by inputs. */
  replaced: number;
}

interface Draft extends ChangedVersion {
  /** The input it is from; undefined for a stored version, also for one closed by an input. */
  index: number | undefined;
  isNew: boolean;
  isChanged: boolean;
}

export function relationKey({
  sourceId,
  targetId,
  type,
}: Pick<KnownVersion, 'sourceId' | 'targetId' | 'type'>): string {
  return `${sourceId}${targetId}${type}`;
}

/**
 * Works out the changes by the inputs, one after another. Versions of a relation never overlap: an input replaces the
 * version with the same beginning, or closes the one valid then; it ends where the next one begins. Without `validFrom`
 * it replaces the version valid now. `known` has all versions of the relations of the inputs. Throws `invalid_value`,
 * naming the index, for an input without duration, two inputs for one version, and an input older than the kept
 * versions.
 */
export function planRelations(
  known: readonly KnownVersion[],
  inputs: readonly RelationInput[],
  now: number,
): RelationPlan {
  const histories = new Map<string, History>();
  for (const version of known) historyOf(histories, version).add(version);
  const ids = inputs.map((input, index) => historyOf(histories, input).apply(input, index, now));
  const plan: RelationPlan = { inserted: [], updated: [], removed: [], ids, replaced: 0 };
  for (const history of histories.values()) history.collect(plan);
  return plan;
}

function historyOf(
  histories: Map<string, History>,
  relation: Pick<KnownVersion, 'sourceId' | 'targetId' | 'type'>,
): History {
  const key = relationKey(relation);
  const history = histories.get(key) ?? new History();
  histories.set(key, history);
  return history;
}

/** The versions of one relation, the oldest first. */
class History {
  #versions: Draft[] = [];

  add(version: KnownVersion): void {
    this.#insert({
      ...version,
      weight: undefined,
      properties: undefined,
      index: undefined,
      isNew: false,
      isChanged: false,
    });
  }

  /** Returns the id of the version the input creates or replaces. */
  apply(input: RelationInput, index: number, now: number): string {
    const from = input.validFrom ?? now;
    const valid = this.#at(from);
    const replaced = this.#replacedBy(input, from, valid, now);
    if (replaced !== undefined) return this.#replace(replaced, input, index);
    const { sourceId, targetId, type, weight, properties } = input;
    const version: Draft = {
      id: newId(),
      sourceId,
      targetId,
      type,
      weight: weight ?? 1,
      properties: properties ?? {},
      validFrom: from,
      validTo: this.#endOf(from, input.validTo ?? null),
      index,
      isNew: true,
      isChanged: true,
    };
    assertLasts(version, index);
    if (valid !== undefined) {
      valid.validTo = from;
      valid.isChanged = true;
    }
    this.#insert(version);
    return version.id;
  }

  collect(plan: RelationPlan): void {
    for (const version of this.#versions.splice(0, Math.max(0, this.#versions.length - maxVersions))) {
      if (version.index !== undefined)
        throw invalidValue(
          `relations[${version.index}]`,
          `is older than the newest ${maxVersions} versions of the relation`,
        );
      plan.removed.push(version.id);
    }
    for (const { index, isNew, isChanged, ...version } of this.#versions) {
      if (isNew) plan.inserted.push(version);
      else if (isChanged) plan.updated.push({ ...version, isReplaced: index !== undefined });
      if (index !== undefined && !isNew) plan.replaced += 1;
    }
  }

  #replacedBy(input: RelationInput, from: number, valid: Draft | undefined, now: number): Draft | undefined {
    if (input.validFrom === undefined || valid?.validFrom === from) return valid;
    if (valid !== undefined) return undefined;
    // An earlier beginning of what is valid now.
    const next = this.#after(from);
    return next !== undefined && next === this.#at(now) ? next : undefined;
  }

  #replace(version: Draft, input: RelationInput, index: number): string {
    if (version.index !== undefined)
      throw invalidValue(
        `relations[${index}]`,
        `has the source, target, type and time of relations[${version.index}]`,
      );
    version.validFrom = Math.min(version.validFrom, input.validFrom ?? version.validFrom);
    const end = input.validTo === undefined ? version.validTo : input.validTo;
    version.validTo = this.#endOf(version.validFrom, end);
    version.weight = input.weight;
    version.properties = input.properties;
    version.index = index;
    version.isChanged = true;
    assertLasts(version, index);
    return version.id;
  }

  #at(time: number): Draft | undefined {
    return this.#versions.findLast(
      ({ validFrom, validTo }) => validFrom <= time && (validTo === null || validTo > time),
    );
  }

  #after(time: number): Draft | undefined {
    return this.#versions.find(({ validFrom }) => validFrom > time);
  }

  #endOf(from: number, end: number | null): number | null {
    const next = this.#after(from)?.validFrom;
    return next !== undefined && (end === null || end > next) ? next : end;
  }

  #insert(version: Draft): void {
    const at = this.#versions.findIndex(({ validFrom }) => validFrom > version.validFrom);
    this.#versions.splice(at < 0 ? this.#versions.length : at, 0, version);
  }
}

function assertLasts({ validFrom, validTo }: KnownVersion, index: number): void {
  if (validTo === null || validTo > validFrom) return;
  throw invalidValue(`relations[${index}].valid_to`, 'must be after valid_from');
}

/** A relation between two entities, as stored. */
export interface StoredEdge {
  id: string;
  sourceId: string;
  targetId: string;
  type: string;
  weight: number;
  validFrom: Date;
  validTo: Date | null;
}

export interface StoredRelation extends StoredEdge {
  properties: Record<string, unknown>;
}

export function showEdge({
  id,
  sourceId,
  targetId,
  type,
  weight,
  validFrom,
  validTo,
}: StoredEdge): GraphEdge {
  return {
    id,
    source: sourceId,
    target: targetId,
    type,
    weight,
    valid_from: validFrom.toISOString(),
    valid_to: validTo?.toISOString() ?? null,
  };
}

export function showRelation(relation: StoredRelation): Relation {
  return { ...showEdge(relation), properties: relation.properties };
}
