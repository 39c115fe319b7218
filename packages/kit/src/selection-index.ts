import { cacheKey } from './cache-key.ts';
import { foldedGroup } from './folded-group.ts';
import { matchesPattern, parsePattern } from './name-pattern.ts';
import { RecentMap } from './recent-map.ts';

/** Selections of runs, as those of policies and guardrails. */

/** The properties of a run for selections. */
export const selectionFields = ['users', 'groups', 'agents', 'apiKeys', 'models'] as const;
export type SelectionField = (typeof selectionFields)[number];

/** Names and patterns by field, of groups those by `groupEntry`; fields without any are absent. */
export type Select = Readonly<Partial<Record<SelectionField, readonly string[]>>>;

/** The selection of lists, of which empty ones take every run. */
export function selectOf(lists: Readonly<Record<SelectionField, readonly string[]>>): Select {
  return Object.fromEntries(
    selectionFields.filter((field) => lists[field].length > 0).map((field) => [field, lists[field]]),
  );
}

/** A group of a run's user. */
export interface RunGroup {
  id: string;
  name: string;
}

/** The properties of a run for selections, apart from the model called. */
export interface SelectedRun {
  userId: string | null;
  /** The user's groups when the run began. */
  groups: readonly RunGroup[];
  agent: { id: string; key: string } | null;
  apiKeyId: string | null;
}

/** The most groups in the memory of an index; others are compared with all patterns again. */
const maxRecentGroups = 500;

/** An entry of `select.groups`: a group of the directory, whatever its name is. */
export function groupEntry(id: string): string {
  return `id:${id}`;
}

/** An entry of `select.groups`: the groups with a name, or with names like a pattern, in any case. */
export function groupNameEntry(name: string): string {
  return `name:${foldedGroup(name)}`;
}

/** Bit `n` stands for the item with this index. */
type IndexSet = bigint;

/** Items selecting a run. */
interface SelectedItems<Item> {
  /** Each with its index. */
  items: readonly { item: Item; index: number }[];
  /** The groups of the run in the selection of an item. */
  groupsOf: (index: number) => readonly RunGroup[];
}

/** Items indexed by selected names. */
export class SelectionIndex<Item extends { select: Select }> {
  readonly #items: readonly Item[];
  readonly #indexes: Readonly<Record<SelectionField, FieldIndex>>;
  /** The items by the groups of late: a user may have 100 of them, and a tenant 320 patterns. */
  readonly #selectingGroups = new RecentMap<{ items: IndexSet }>(maxRecentGroups);

  constructor(items: readonly Item[]) {
    this.#items = items;
    const indexOf = (field: SelectionField): FieldIndex =>
      new FieldIndex(items.map(({ select }) => select[field]));
    this.#indexes = {
      users: indexOf('users'),
      groups: indexOf('groups'),
      agents: indexOf('agents'),
      apiKeys: indexOf('apiKeys'),
      models: indexOf('models'),
    };
  }

  /** Roughly its bytes in memory. */
  get bytes(): number {
    const entries = this.#items.flatMap(({ select }) => Object.values(select).flat());
    const groups = this.#indexes.groups.hasPatterns ? maxRecentGroups : 0;
    return entries.reduce((sum, entry) => sum + 4 * entry.length + 200, 700 * groups);
  }

  /** Whether an item selects calls of one of the models, by its index. */
  selectingModels(modelIds: readonly string[]): (index: number) => boolean {
    const selected = this.#indexes.models.matching(modelIds);
    return (index) => hasBit(selected, index);
  }

  /** Items selecting a run if it calls the right models. */
  matching(run: SelectedRun): SelectedItems<Item> {
    const valuesOf: Record<Exclude<SelectionField, 'groups' | 'models'>, readonly string[]> = {
      users: listOf(run.userId),
      agents: run.agent === null ? [] : [run.agent.id, run.agent.key],
      apiKeys: listOf(run.apiKeyId),
    };
    const selecting = run.groups.map((group) => ({ group, items: this.#selecting(group) }));
    let selected = setOf(this.#items, () => true);
    for (const field of selectionFields)
      if (field !== 'groups' && field !== 'models')
        selected &= this.#indexes[field].matching(valuesOf[field]);
    selected &= selecting.reduce((set, { items }) => set | items, this.#indexes.groups.matching([]));
    return {
      items: this.#items.flatMap((item, index) => (hasBit(selected, index) ? [{ item, index }] : [])),
      groupsOf: (index) => selecting.filter(({ items }) => hasBit(items, index)).map(({ group }) => group),
    };
  }

  #selecting({ id, name }: RunGroup): IndexSet {
    const { groups } = this.#indexes;
    const compared = () => ({
      items: groups.naming(groupEntry(id)) | groups.matching([groupNameEntry(name)]),
    });
    // Names alone are found faster.
    if (!groups.hasPatterns) return compared().items;
    return this.#selectingGroups.getOrMake(cacheKey(id, name), compared).items;
  }
}

/** The selections of all items by one field. */
class FieldIndex {
  /** Items without names in the field. */
  readonly #others: IndexSet;
  readonly #byName = new Map<string, IndexSet>();
  readonly #byPattern: readonly { pattern: readonly string[]; items: IndexSet }[];

  /** `entries`: for each item its names and patterns, or undefined. */
  constructor(entries: readonly (readonly string[] | undefined)[]) {
    this.#others = setOf(entries, (names) => names === undefined);
    const byPattern = new Map<string, IndexSet>();
    for (const [index, names = []] of entries.entries()) {
      for (const entry of names) {
        const sets = parsePattern(entry) === null ? this.#byName : byPattern;
        sets.set(entry, (sets.get(entry) ?? 0n) | bitOf(index));
      }
    }
    this.#byPattern = [...byPattern].map(([entry, items]) => ({
      pattern: parsePattern(entry) ?? [],
      items,
    }));
  }

  get hasPatterns(): boolean {
    return this.#byPattern.length > 0;
  }

  /** The items with a value, apart from patterns. */
  naming(value: string): IndexSet {
    return this.#byName.get(value) ?? 0n;
  }

  /** The items with one of the values, or without names in the field. */
  matching(values: readonly string[]): IndexSet {
    let matching = this.#others;
    for (const value of values) {
      matching |= this.naming(value);
      for (const { pattern, items } of this.#byPattern)
        if ((items & ~matching) !== 0n && matchesPattern(pattern, value)) matching |= items;
    }
    return matching;
  }
}

function bitOf(index: number): IndexSet {
  return 1n << BigInt(index);
}

function hasBit(set: IndexSet, index: number): boolean {
  return (set & bitOf(index)) !== 0n;
}

function setOf<Item>(items: readonly Item[], includes: (item: Item) => boolean): IndexSet {
  return items.reduce((set, item, index) => (includes(item) ? set | bitOf(index) : set), 0n);
}

/** The values of a property, without one or with one. */
export function listOf(value: string | null): readonly string[] {
  return value === null ? [] : [value];
}
