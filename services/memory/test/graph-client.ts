import { expect } from '@jest/globals';
import type { Entity, Relation, Subgraph } from '@gatehouse/contract/graph';
import type { ErrorBody } from '@gatehouse/kit/errors';
import type { As, CallOptions } from '@gatehouse/test/service-under-test';
import type { MemoryServiceUnderTest, TestTenant } from './memory-service.ts';

/** Members that answers of the graph may have. */
export interface GraphBody extends Entity, Subgraph {
  error: ErrorBody['error'];
  data: (Entity & Relation)[];
  created: number;
  updated: number;
  has_more: boolean;
  next_cursor: string | null;
  entities: Entity[];
  relations: Relation[];
}

export interface GraphAnswer {
  status: number;
  headers: Headers;
  body: GraphBody;
}

export type Fields = Record<string, unknown>;

/** The graph of one agent, as a caller uses it. */
export class GraphClient {
  readonly tenant: TestTenant;
  readonly as: As;
  readonly #memory: MemoryServiceUnderTest;

  constructor(memory: MemoryServiceUnderTest, tenant: TestTenant, as: As = tenant.admin) {
    this.#memory = memory;
    this.tenant = tenant;
    this.as = as;
  }

  /** The same graph for another caller. */
  by(as: As): GraphClient {
    return new GraphClient(this.#memory, this.tenant, as);
  }

  async call(
    method: string,
    path: string,
    body?: unknown,
    options: Partial<CallOptions> = {},
  ): Promise<GraphAnswer> {
    const answer = await this.#memory.call(method, `${this.tenant.base}/kg/${path}`, {
      as: this.as,
      body,
      ...options,
    });
    return answer as unknown as GraphAnswer;
  }

  entities(...entities: Fields[]): Promise<GraphAnswer> {
    return this.call('POST', 'entities', { entities });
  }

  relations(...relations: Fields[]): Promise<GraphAnswer> {
    return this.call('POST', 'relations', { relations });
  }

  traverse(body: Fields): Promise<GraphAnswer> {
    return this.call('POST', 'traverse', body);
  }

  /** Stores entities of the type `thing` with these names as external ids, and returns their ids. */
  async things(...names: string[]): Promise<string[]> {
    const answer = await this.entities(...names.map((name) => ({ external_id: name, name, type: 'thing' })));
    expect(answer.status).toBe(200);
    return answer.body.data.map(({ id }) => id);
  }

  /** Stores relations `source>target`, with weight 1 or as `source>target:0.5`. */
  async link(...links: string[]): Promise<void> {
    const relations = links.map((link) => {
      const [, source, target, weight] = /^(.+)>([^:]+)(?::(.+))?$/.exec(link) ?? [];
      return { source, target, type: 'leads_to', weight: Number(weight ?? 1) };
    });
    const answer = await this.relations(...relations);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  }

  /** Names of the nodes of a traversal with their distances, in order: `a0 b1`. */
  async reach(body: Fields): Promise<string> {
    const answer = await this.traverse(body);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body.nodes.map(({ name, distance }) => `${name}${distance}`).join(' ');
  }

  async names(query = ''): Promise<string[]> {
    const answer = await this.call('GET', `entities?${query}`);
    expect(answer.status).toBe(200);
    return answer.body.data.map(({ name }) => name);
  }
}
