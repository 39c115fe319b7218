import { minuteMs } from '@gatehouse/kit/bounds';
import { parseBody, readPart } from '@gatehouse/http/body';
import { actorOf, type Rpc, type RpcContext } from '@gatehouse/grpc/rpc';
import type { Signer } from '@gatehouse/identity/signer';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { EmbedRequest, EmbedResponse } from '@gatehouse/proto/chat/v1/chat';
import type { Catalogue, Model } from '../catalogue/catalogue.ts';
import { forOnePayer, soleTarget, type Choosing } from '../catalogue/target.ts';
import type { CompletionRequest } from '@gatehouse/dialects/dialect';
import { dialects } from '@gatehouse/dialects/dialects';
import { guardedRequest } from './guarded-request.ts';
import { groupsOfUser, type FindUser } from '../shared/acting-user.ts';
import { delegatedActor, type Actor } from '../shared/actor.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import type { TenantSettings } from '../shared/tenant-settings.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import type { AgentResolver } from '../turns/find-target.ts';
import { answerInside, charged, memoryChannel, type InnerTurnDependencies } from './inner-turn.ts';
import { objectBytes } from '../bounds.ts';

export interface EmbedDependencies extends InnerTurnDependencies {
  catalogue: Catalogue;
  settings: TenantSettingsClient;
  findUser: FindUser;
  guardrails: Guardrails;
  agents: Pick<AgentResolver, 'resolve'>;
  signer: Signer;
}

const maxTexts = 64;

/** `Embed`: the vectors of texts by the embedding model of the catalogue. */
export function embed(dependencies: EmbedDependencies): Rpc<EmbedRequest, EmbedResponse> {
  const { catalogue, settings, findUser } = dependencies;
  return {
    callers: ['memory'],
    acceptsDelegation: true,
    async handle({ texts, agentId }, context) {
      const { requestId, trace } = context;
      const caller = callerOf(context, agentId);
      const { tenantId } = caller;
      checkTexts(texts);
      const tenantSettings = await settings.getForTenant(tenantId, { requestId, trace });
      const model = embeddingModel(catalogue, tenantSettings);
      // Memory also works for no user, and for users of earlier requests.
      const groups = await groupsOfUser(findUser, { ...tenantSettings, actingUsers: 'any' }, caller);
      const actor = { ...caller, groups };
      const agentKey = await agentKeyOf(dependencies, tenantSettings, { actor, agentId });
      const body = Buffer.from(JSON.stringify({ model: model.id, input: texts }));
      // Without fallbacks: vectors of another model could not be compared with the stored ones.
      const target = forOnePayer(
        { ...soleTarget(model, inTurn(dependencies)), agentId, ...(agentKey !== undefined && { agentKey }) },
        { keys: tenantSettings.ownKeys, userId: actor.userId },
      );
      const answer = await charged(
        dependencies.bodyBudget,
        { tenantId, bytes: body.length },
        async (share) => {
          const signal = signalUntil(context);
          const { guardrails, text: sent } = await guardedRequest(dependencies.guardrails, {
            ...{ dialect: dialects.chat, actor, settings: tenantSettings, target, sessionId: null },
            ...{ text: body, sent: body, isOlder: true, share, signal },
          });
          const request = await requestOf(sent, tenantId);
          return answerInside(dependencies, {
            ...{ facts: request, parts: null, sent, source: request.source(share), share, actor, guardrails },
            reread: async (text) => {
              const facts = await requestOf(text, tenantId);
              return { facts, source: facts.source(share) };
            },
            settings: { ...tenantSettings, previewChars: 0 },
            target,
            channel: memoryChannel,
            signal,
          });
        },
      );
      const vectors = await dialects.chat.readEmbeddings(answer.bytes, { texts: texts.length, tenantId });
      if (vectors === null) throw invalidAnswer(answer.model);
      return { model: answer.model.id, embeddings: vectors.map((values) => ({ values })) };
    },
  };
}

/** The key of an agent, by which policies and guardrails may select it; undefined for a tenant without any. */
async function agentKeyOf(
  { agents, signer }: EmbedDependencies,
  { policies, guardrails }: TenantSettings,
  { actor, agentId }: { actor: Actor; agentId: string },
): Promise<string | undefined> {
  if (policies === null && guardrails === null) return;
  const { tenantId, userId } = actor;
  const agent = await agents.resolve(delegatedActor(signer, { tenantId, agentId, userId }, actor), agentId);
  return agent?.key;
}

/** The same model everywhere, so its vectors can be compared. Texts are no conversation. */
function inTurn({ providers }: EmbedDependencies): Choosing {
  return { affinity: null, deploymentOrder: (model) => providers.deploymentOrder(model, null) };
}

function callerOf(context: RpcContext, agentId: string): Omit<Actor, 'groups'> {
  if (!isUuid(agentId)) throw new AppError('invalid_value', 'agent_id must be an id.', { param: 'agent_id' });
  const { tenantId, userId } = actorOf(context, agentId);
  const { requestId, trace } = context;
  return { requestId, trace, tenantId, apiKeyId: null, userId };
}

function checkTexts(texts: readonly string[]): void {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (texts.length > 0 && texts.length <= maxTexts && bytes <= objectBytes && !texts.includes('')) return;
  throw new AppError(
    'invalid_value',
    `texts must be 1 to ${maxTexts} texts, none of them empty, of ${objectBytes} bytes together at most.`,
    { param: 'texts' },
  );
}

function embeddingModel(catalogue: Catalogue, { allowedModels }: TenantSettings): Model {
  const { embeddings } = catalogue;
  const model = embeddings === null ? undefined : catalogue.find(embeddings, allowedModels);
  if (model !== undefined) return model;
  throw new AppError('embeddings_not_configured', 'There is no embedding model that the tenant may use.');
}

async function requestOf(body: Buffer, tenantId: string): Promise<CompletionRequest> {
  const fields = await parseBody(body, tenantId);
  return readPart(body, tenantId, () => dialects.chat.readRequest('embeddings', body, fields));
}

function invalidAnswer({ id, provider }: Model): AppError {
  return new AppError(
    'provider_invalid_response',
    `The provider ${provider.name} did not return one vector for each text from the model ${id}.`,
  );
}

/** Aborts when the caller stops waiting. */
function signalUntil({ deadline }: Pick<RpcContext, 'deadline'>): AbortSignal {
  return AbortSignal.timeout(Math.max(0, Math.min(minuteMs, deadline - Date.now())));
}
