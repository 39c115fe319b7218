import { hash } from 'node:crypto';
import type { TraverseGraph } from '@gatehouse/contract/graph';

export type Traverse = Omit<TraverseGraph, 'as_of'> & {
  /** Null: now. */
  asOf: string | null;
};

/** The part of a tenant's graphs, and the time, read by a traversal. */
export interface GraphView {
  tenantId: string;
  graphIds: readonly string[];
  asOf: string;
  query: Traverse;
}

/**
 * Relations of an entity, the strongest, of which a step looks up the type of the other end: 25,000 take about 0.1 s. A
 * frontier shares four times as many, but each entity has the smallest number.
 */
export const maxLookups = { ofEntity: 25_000, ofStep: 100_000, least: 500 };

/** The columns of a relation as seen from an entity. */
const ends = {
  out: { own: 'source_id', other: 'target_id' },
  in: { own: 'target_id', other: 'source_id' },
};

/** The relations of `origin` in each visible graph and each direction, the strongest first. */
export function relationsOf({ graphIds, query }: GraphView, values: Values): string[] {
  const directions = query.direction === 'both' ? (['out', 'in'] as const) : [query.direction];
  const valid = validity(query, values);
  return graphIds.flatMap((graphId) => {
    const graph = values.add(graphId);
    return directions.map((direction) => {
      const { own: near, other } = ends[direction];
      return `select r.${other} as id, r.weight from memory.relations as r
        where r.${near} = origin.id and r.tenant_id = $1 and r.graph_id = ${graph}::bigint
          and r.${other} <> origin.id and ${valid}
        order by r.weight desc, r.${other}`;
    });
  });
}

/** Parameters of a statement with a text depending on the query. */
export class Values {
  readonly #list: unknown[];

  constructor(first: unknown[]) {
    this.#list = [...first];
  }

  /** Returns the name of the parameter. */
  add(value: unknown): string {
    return `$${this.#list.push(value)}`;
  }

  /** The statement, prepared under a name of its text: planning takes as long as a step does. There are few texts. */
  prepared(text: string): { name: string; text: string; values: unknown[] } {
    return { name: `graph_${hash('sha1', text)}`, text, values: this.#list };
  }
}

/** SQL condition for the counting relations `r`; `$2` is the time. */
export function validity({ relation_types: types }: Traverse, values: Values): string {
  const typeFilter = types.length === 0 ? '' : `and r.type = any (${values.add(types)}::text[])`;
  return `r.valid_from <= $2::timestamptz and (r.valid_to is null or r.valid_to > $2::timestamptz) ${typeFilter}`;
}
