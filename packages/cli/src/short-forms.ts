import type { Operation } from './operations.ts';

/** An operation of the only collection of a group, which the group takes as its own. */
export interface ShortForm {
  /** The id of the group, `channels`. */
  group: string;
  /** The operation, like `channels.instances.list`. */
  operation: Operation;
}

/**
 * Operations a group takes without the name of their collection: of groups with one collection, apart from those within
 * its resources, and without a list of their own. Leaves out operations also in another part of the group.
 */
export function shortForms(operations: readonly Operation[]): ShortForm[] {
  const ids = new Set(operations.map(({ id }) => id));
  const lists = operations.filter(({ id }) => id.endsWith('.list') && id.split('.').length > 2);
  const groups = new Set(lists.map(({ id }) => groupOf(id)));
  return [...groups].flatMap((group) => {
    const collections = lists.filter(({ id }) => groupOf(id) === group);
    const depth = Math.min(...collections.map(({ pathParameters }) => pathParameters.length));
    const [only, ...others] = collections.filter(({ pathParameters }) => pathParameters.length === depth);
    if (only === undefined || others.length > 0 || ids.has(`${group}.list`)) return [];
    const collection = only.id.slice(0, -'.list'.length);
    const isShort = ({ id, pathParameters }: Operation): boolean => {
      const verb = id.slice(collection.length);
      const isOther = (other: Operation): boolean =>
        groupOf(other.id) === group &&
        other.id !== id &&
        other.id.endsWith(verb) &&
        other.pathParameters.length <= pathParameters.length;
      return id === collection + verb && verb.lastIndexOf('.') === 0 && !operations.some(isOther);
    };
    return operations.filter(isShort).map((operation) => ({ group, operation }));
  });
}

/** The id of the group of a collection's operation. */
function groupOf(id: string): string {
  return id.split('.').slice(0, -2).join('.');
}
