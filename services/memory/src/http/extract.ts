import type { Changes, ChangeOutcome } from '@gatehouse/audited-changes/changes';
import type { ExtractGraph } from '@gatehouse/contract/graph';
import type { Call, Handler } from '@gatehouse/http/app';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid, newId } from '@gatehouse/kit/ids';
import type { FairQueue } from '@gatehouse/kit/fair-queue';
import { showEntity } from '../graph/entity.ts';
import { callIdOf, extractionRequest, readExtraction, type Extraction } from '../graph/extraction.ts';
import { showRelation } from '../graph/relation.ts';
import type { MemoryAgents } from '../clients/agents.ts';
import type { CompletionClient } from '../clients/completions.ts';
import { writableUser } from '../shared/memory-key.ts';
import { upsertEntities, type GraphWrite } from '../store/graph/entity-store.ts';
import type { GraphLimits } from '../store/graph/graph-row-store.ts';
import { upsertRelations } from '../store/graph/relation-store.ts';
import { memoryOf, type MemoryCall } from './memory-call.ts';
import { sharedChange } from './shared-change.ts';

export interface ExtractDependencies {
  agents: MemoryAgents;
  completions: CompletionClient;
  changes: Changes;
  /** Limits the work one tenant has under way. */
  work: FairQueue;
  /** Those of a tenant. */
  limitsOf: (tenantId: string) => Promise<GraphLimits>;
}

/** `/v1/agents/{agentID}/kg/extract` */
export function extractHandlers(dependencies: ExtractDependencies): Record<string, Handler> {
  const { agents, completions, changes, work, limitsOf } = dependencies;
  return {
    'kg.extract': async (call: Call<ExtractGraph>) => {
      const memory = await memoryOf(call, agents);
      const { key, principal } = memory;
      const userId = writableUser(principal);
      const limits = await limitsOf(key.tenantId);
      const { text } = call.body;
      const at = new Date();
      const request = {
        agent: key.agentId,
        callId: callOf(call, memory),
        requestJson: extractionRequest(text),
      };
      // No connection is held while the model answers.
      const { runId, json } = await completions.complete(call, request);
      const extraction = readExtraction(json);
      const write = { userId, at, limits, runId: isUuid(runId) ? runId : null };
      return work.run(key.tenantId, () =>
        changes.change(call, (db) => storeExtraction(db, memory, write, extraction).catch(blameModel)),
      );
    },
  };
}

/** The id of the model call: the same for a repeat with the same `Idempotency-Key`. */
function callOf({ claim, body }: Call<ExtractGraph>, { key, principal }: MemoryCall): string {
  if (claim === null) return newId();
  const { tenantId, agentId } = key;
  return callIdOf([tenantId, agentId, principal.keyId, principal.userId, claim.request.key, body.text]);
}

/** A contradiction to the stored graph, like an end before a stored beginning, is the model's error. */
function blameModel(error: unknown): never {
  if (!(error instanceof AppError) || error.code !== 'invalid_value') throw error;
  throw new AppError(
    'extraction_failed',
    'The model of the agent returned what contradicts the stored graph. Nothing was stored.',
    { cause: error },
  );
}

async function storeExtraction(
  db: Parameters<typeof upsertEntities>[0],
  memory: MemoryCall,
  write: GraphWrite,
  extraction: Extraction,
): Promise<ChangeOutcome> {
  const entities = await upsertEntities(db, memory.key, write, extraction.entities);
  const idAt = (index: number): string => entities.rows[index]?.id ?? '';
  const relations = await upsertRelations(
    db,
    memory.key,
    write,
    extraction.relations.map(({ source, target, ...relation }) => ({
      ...relation,
      source: idAt(source),
      target: idAt(target),
      weight: undefined,
      properties: undefined,
    })),
  );
  const counts = {
    entities_created: entities.created,
    entities_updated: entities.updated,
    relations_created: relations.created,
    relations_updated: relations.updated,
  };
  return {
    body: { entities: entities.rows.map(showEntity), relations: relations.rows.map(showRelation) },
    changes: sharedChange('memory_graph.updated', memory, { after: counts }),
  };
}
