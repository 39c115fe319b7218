import type { Entity, GraphNode } from '@gatehouse/contract/graph';
import { invalidValue } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { agentScope } from '../shared/memory-key.ts';

/** An entity as stored. */
export interface StoredEntity {
  id: string;
  externalId: string | null;
  name: string;
  type: string;
  description: string | null;
  properties: Record<string, unknown>;
  /** '' for an entity of the agent. */
  userId: string;
}

/** An entity to store. Undefined members keep the value of the stored entity. */
export interface EntityInput {
  externalId: string | null;
  name: string;
  type: string;
  description: string | null | undefined;
  properties: Record<string, unknown> | undefined;
}

/** Members by which a stored entity is compared with a new one. */
export interface KnownEntity {
  id: string;
  externalId: string | null;
  nameKey: string;
  typeKey: string;
}

export interface PlannedEntity extends KnownEntity {
  input: EntityInput;
  isNew: boolean;
}

/** The form in which names and types are compared: without regard to case and outer white space. */
export function labelKey(text: string): string {
  return text.normalize('NFC').trim().toLowerCase().normalize('NFC');
}

/**
 * Decides which stored entity each input is. First the one with its external id. Else, of those with its name and type,
 * the one without an external id, or the only one if the input has no external id. Else a new one. `known` has every
 * stored entity with an external id, or a name and type, of the inputs. Throws `invalid_value`, naming the index, when
 * two inputs are the same entity.
 */
export function planEntities(known: readonly KnownEntity[], inputs: readonly EntityInput[]): PlannedEntity[] {
  assertDistinct(inputs);
  const candidates = new Candidates(known);
  const taken = new Set<string>();
  return inputs.map((input, index) => {
    const [nameKey, typeKey] = [labelKey(input.name), labelKey(input.type)];
    const same = candidates.find(input.externalId, nameKey, typeKey);
    if (same !== undefined && taken.has(same.id))
      throw invalidValue(`entities[${index}]`, 'is the same entity as an earlier one');
    const externalId = input.externalId ?? same?.externalId ?? null;
    const entity = { id: same?.id ?? newId(), externalId, nameKey, typeKey };
    taken.add(entity.id);
    candidates.replace(same, entity);
    return { ...entity, input, isNew: same === undefined };
  });
}

/** Stored entities, by what they may agree in. */
class Candidates {
  readonly #byExternalId = new Map<string, KnownEntity>();
  readonly #byLabel = new Map<string, Map<string, KnownEntity>>();

  constructor(known: readonly KnownEntity[]) {
    for (const entity of known) this.replace(undefined, entity);
  }

  find(externalId: string | null, nameKey: string, typeKey: string): KnownEntity | undefined {
    const byId = externalId === null ? undefined : this.#byExternalId.get(externalId);
    if (byId !== undefined) return byId;
    const alike = [...(this.#byLabel.get(labelOf({ nameKey, typeKey }))?.values() ?? [])];
    const unnamed = alike.find((entity) => entity.externalId === null);
    if (unnamed !== undefined || externalId !== null) return unnamed;
    // Two entities with this name in the caller's system: the input may be either, or a third.
    return alike.length === 1 ? alike[0] : undefined;
  }

  replace(before: KnownEntity | undefined, after: KnownEntity): void {
    if (before !== undefined) this.#byLabel.get(labelOf(before))?.delete(before.id);
    const label = labelOf(after);
    const alike = this.#byLabel.get(label) ?? new Map<string, KnownEntity>();
    this.#byLabel.set(label, alike.set(after.id, after));
    if (after.externalId !== null) this.#byExternalId.set(after.externalId, after);
  }
}

function labelOf({ nameKey, typeKey }: Pick<KnownEntity, 'nameKey' | 'typeKey'>): string {
  return JSON.stringify([nameKey, typeKey]);
}

/** Throws when two inputs have the same external id or, unless both have one, the same name and type. */
function assertDistinct(inputs: readonly EntityInput[]): void {
  const externalIds = new Map<string, number>();
  const labels = new Map<string, { index: number; hasId: boolean }>();
  for (const [index, { externalId, name, type }] of inputs.entries()) {
    if (externalId !== null) {
      const other = externalIds.get(externalId);
      if (other !== undefined)
        throw invalidValue(`entities[${index}].external_id`, `is also that of entities[${other}]`);
      externalIds.set(externalId, index);
    }
    const label = labelOf({ nameKey: labelKey(name), typeKey: labelKey(type) });
    const other = labels.get(label);
    if (other !== undefined && !(other.hasId && externalId !== null))
      throw invalidValue(`entities[${index}].name`, `is with its type also that of entities[${other.index}]`);
    if (other === undefined || externalId === null) labels.set(label, { index, hasId: externalId !== null });
  }
}

export function showEntity({ externalId, userId, ...entity }: StoredEntity): Entity {
  const { id, name, type, description, properties } = entity;
  const scope = userId === agentScope ? 'agent' : 'user';
  return { id, external_id: externalId, name, type, description, properties, scope };
}

export function showNode(entity: Omit<StoredEntity, 'userId'>, distance: number): GraphNode {
  const { id, externalId, name, type, description, properties } = entity;
  return { id, external_id: externalId, name, type, description, properties, distance };
}
