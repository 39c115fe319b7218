import { z } from 'zod';
import {
  count,
  jsonRecord,
  listOf,
  page,
  storableText,
  timestamp,
  utcTime,
  uuid,
  visibleText,
} from './fields.ts';
import { memoryScope } from './memory.ts';
import { noContent, ok, pageOf, routesWith, scope, type Route } from './route.ts';

/** The knowledge graph of an agent: `/v1/agents/{agentID}/kg/*`. */

export const maxGraphBatch = 1_000;
export const maxPropertiesBytes = 64 * 1024;
export const maxGraphEdges = 10_000;
export const maxExtractCharacters = 100_000;

/** A text as people type it: without white space around it, in Unicode's composed form. */
const label = (max: number) => {
  const message = `must not be blank, nor longer than ${max} characters`;
  return visibleText(1, max, message)
    .transform((text) => text.normalize('NFC').trim())
    .refine((text) => text.length <= max, message);
};

const entityName = label(255);
const entityType = label(100);
const relationType = label(100);
const externalId = storableText(1, 255);
/** An id, or an `external_id`. */
const entityRef = storableText(1, 255);

const properties = jsonRecord.refine(
  (value) => new TextEncoder().encode(JSON.stringify(value)).length <= maxPropertiesBytes,
  `must not be larger than ${maxPropertiesBytes} bytes of JSON`,
);

const entityFields = {
  id: uuid,
  external_id: z.string().nullable(),
  name: z.string(),
  type: z.string(),
  description: z.string().nullable(),
  properties: z.record(z.string(), z.unknown()),
};

export const entity = z.strictObject({ ...entityFields, scope: memoryScope });
export type Entity = z.output<typeof entity>;

export const relation = z.strictObject({
  id: uuid,
  source: uuid.describe('The id of an entity'),
  target: uuid.describe('The id of an entity'),
  type: z.string(),
  weight: z.number(),
  properties: z.record(z.string(), z.unknown()),
  valid_from: utcTime.describe('Inclusive'),
  valid_to: utcTime.nullable().describe('Exclusive; null while no end is known'),
});
export type Relation = z.output<typeof relation>;

export const newEntity = z.strictObject({
  external_id: externalId.nullable().optional().describe('The id of the entity in your own system'),
  name: entityName,
  type: entityType.describe('Such as `person`. Upper and lower case are the same'),
  description: storableText(0, 5_000).nullable().optional(),
  properties: properties.optional().describe('At most 64 KiB of JSON'),
  scope: memoryScope
    .optional()
    .describe('Default: `user` with an acting user, otherwise `agent`. An acting user writes only `user`'),
});
export type NewEntity = z.output<typeof newEntity>;

export const newRelation = z.strictObject({
  source: entityRef.describe('The id or `external_id` of an entity'),
  target: entityRef.describe('The id or `external_id` of an entity'),
  type: relationType.describe('Such as `works_at`. Upper and lower case differ'),
  weight: z.number().min(0).max(1e9).optional().describe('The strength: default 1'),
  properties: properties.optional().describe('At most 64 KiB of JSON'),
  valid_from: timestamp.optional().describe('Default: now'),
  valid_to: timestamp.nullable().optional(),
});
export type NewRelation = z.output<typeof newRelation>;

export const upsertEntities = z.strictObject({ entities: z.array(newEntity).min(1).max(maxGraphBatch) });
export type UpsertEntities = z.output<typeof upsertEntities>;

export const upsertRelations = z.strictObject({ relations: z.array(newRelation).min(1).max(maxGraphBatch) });
export type UpsertRelations = z.output<typeof upsertRelations>;

const upserted = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ data: z.array(item), created: count, updated: count });
export const upsertedEntities = upserted(entity);
export const upsertedRelations = upserted(relation);

export const listEntities = z.strictObject({
  ...page,
  q: storableText(1, 200).optional().describe('Part of the name, or the whole `external_id`'),
  type: entityType.optional(),
});
export const entityList = listOf(entity);

export const extractGraph = z.strictObject({ text: storableText(1, maxExtractCharacters) });
export type ExtractGraph = z.output<typeof extractGraph>;

export const extractedGraph = z.strictObject({ entities: z.array(entity), relations: z.array(relation) });

const typeFilter = <Type extends z.ZodType>(type: Type) => z.array(type).max(50).default([]);

export const traverseGraph = z.strictObject({
  start: z
    .array(storableText(1, 255))
    .min(1)
    .max(20)
    .describe('Each an id, else an `external_id`, else a name: then every entity of that name'),
  depth: z.int().min(1).max(5).default(2),
  direction: z.enum(['out', 'in', 'both']).default('both'),
  relation_types: typeFilter(relationType).describe('Follows only relations of these types; empty: of all'),
  entity_types: typeFilter(entityType).describe(
    'Visits only entities of these types, apart from the start; empty: of all',
  ),
  max_nodes: z.int().min(1).max(2_000).default(100),
  fan_out: z.int().min(1).max(500).default(50).describe('Follows at most so many relations of an entity'),
  as_of: timestamp.optional().describe('Only relations valid at this time. Default: now'),
});
export type TraverseGraph = z.output<typeof traverseGraph>;

export const graphNode = z.strictObject({
  ...entityFields,
  distance: count.describe('Relations between the node and the nearest start'),
});
export type GraphNode = z.output<typeof graphNode>;

export const graphEdge = relation.omit({ properties: true });
export type GraphEdge = z.output<typeof graphEdge>;

export const subgraph = z.strictObject({
  nodes: z.array(graphNode),
  edges: z.array(graphEdge),
  truncated: z.boolean().describe('Whether `fan_out`, `max_nodes` or the size of the response cut something'),
});
export type Subgraph = z.output<typeof subgraph>;

const base = '/v1/agents/{agentID}/kg';
const read = routesWith({ service: 'memory', access: scope('memory.read'), actingUser: true });
const write = routesWith({
  service: 'memory',
  access: scope('memory.write'),
  actingUser: true,
  idempotencyKey: true,
});

const params = { agentID: 'support' };
const widget = {
  id: '0198c2b6-5a10-7b21-8c3d-1e2f3a4b5c6d',
  external_id: 'sku-7',
  name: 'Widget',
  type: 'product',
  description: 'A small part of many machines',
  properties: { price: '4.20' },
};
const acme = {
  id: '0198c2b6-5a10-7b21-8c3d-2f3a4b5c6d7e',
  external_id: 'crm-12',
  name: 'Acme',
  type: 'company',
  description: null,
  properties: {},
};
const suppliedBy = {
  id: '0198c2b6-6b20-7c32-9d4e-3a4b5c6d7e8f',
  source: widget.id,
  target: acme.id,
  type: 'supplied_by',
  weight: 0.8,
  valid_from: '2026-01-01T00:00:00.000Z',
  valid_to: null,
};
const withoutId = <Item extends object>({ id: _id, ...rest }: Item & { id: string }) => rest;
const scopeNote =
  'Writes to the user of `X-Service-User-Id` or, with the scope `agents.write`, to the agent.';

export const routes: readonly Route[] = [
  read('kg.entities.list', `GET ${base}/entities`, {
    query: listEntities,
    response: ok(entityList),
    summary: 'List entities, newest first',
    examples: {
      products: {
        summary: 'Products with a word in their name',
        params,
        query: { type: 'product', q: 'widget' },
        response: pageOf({ ...widget, scope: 'agent' }),
      },
    },
  }),
  write('kg.entities.upsert', `POST ${base}/entities`, {
    body: upsertEntities,
    response: ok(upsertedEntities),
    summary: 'Create or update up to 1,000 entities',
    description: `An entity is the same as a stored one if their \`external_id\` agrees, else if name and type agree without regard to case. Fields that you omit keep their values. Stores all entities or none. ${scopeNote}`,
    examples: {
      product: {
        summary: 'A product and its supplier',
        params,
        body: { entities: [widget, acme].map(withoutId) },
        response: {
          data: [
            { ...widget, scope: 'agent' },
            { ...acme, scope: 'agent' },
          ],
          created: 2,
          updated: 0,
        },
      },
    },
  }),
  read('kg.entities.get', `GET ${base}/entities/{id}`, {
    response: ok(entity),
    summary: 'Get an entity',
    examples: {
      product: {
        summary: 'By its id',
        params: { ...params, id: widget.id },
        response: { ...widget, scope: 'agent' },
      },
    },
  }),
  write('kg.entities.delete', `DELETE ${base}/entities/{id}`, {
    idempotencyKey: false,
    response: noContent,
    summary: 'Delete an entity and its relations',
    examples: { product: { summary: 'By its id', params: { ...params, id: widget.id } } },
  }),
  write('kg.relations.upsert', `POST ${base}/relations`, {
    body: upsertRelations,
    response: ok(upsertedRelations),
    summary: 'Create, replace or close up to 1,000 relations',
    description: `A relation with the source, target and type of one that is valid replaces it: fields that you omit keep their values. With a later \`valid_from\` it closes that one instead, which then ends where the new one begins. Earlier versions stay for \`as_of\`; the newest 100 of them are kept. Stores all relations or none. ${scopeNote} A relation of the agent connects entities of the agent only.`,
    examples: {
      supplier: {
        summary: 'A supplier since January 1',
        params,
        body: {
          relations: [
            {
              source: 'sku-7',
              target: 'crm-12',
              type: suppliedBy.type,
              weight: suppliedBy.weight,
              valid_from: '2026-01-01T00:00:00Z',
            },
          ],
        },
        response: { data: [{ ...suppliedBy, properties: {} }], created: 1, updated: 0 },
      },
    },
  }),
  write('kg.extract', `POST ${base}/extract`, {
    body: extractGraph,
    response: ok(extractedGraph),
    summary: 'Extract entities and relations from a text',
    description: `Calls the model of the agent once and stores what it finds. Stores nothing if its answer doesn’t have the expected form: \`extraction_failed\`. ${scopeNote}`,
    examples: {
      sentence: {
        summary: 'A sentence',
        params,
        body: { text: 'Acme supplies the widget.' },
        response: {
          entities: [
            { ...widget, scope: 'agent' },
            { ...acme, scope: 'agent' },
          ],
          relations: [{ ...suppliedBy, properties: {} }],
        },
      },
    },
  }),
  read('kg.traverse', `POST ${base}/traverse`, {
    body: traverseGraph,
    response: ok(subgraph),
    summary: 'Find what is connected to entities',
    description:
      'Breadth-first: returns each node once, with its shortest distance from the start, and the relations between the returned nodes. Where `fan_out` or `max_nodes` cut, the strongest relations come first.',
    examples: {
      supplier: {
        summary: 'Entities that are connected to a product',
        params,
        body: { start: ['sku-7'], depth: 1, as_of: '2026-06-01T00:00:00Z' },
        response: {
          nodes: [
            { ...widget, distance: 0 },
            { ...acme, distance: 1 },
          ],
          edges: [suppliedBy],
          truncated: false,
        },
      },
    },
  }),
];
