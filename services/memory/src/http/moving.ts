import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Changes, ChangeOutcome } from '@gatehouse/audited-changes/changes';
import type { ExportedRecord, MemoryCounts } from '@gatehouse/contract/memory';
import { jsonLines } from '@gatehouse/contract/route';
import { isOutage } from '@gatehouse/grpc/errors';
import { tenantOf, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { checkBodyHeaders } from '@gatehouse/http/body';
import { clientIpOf } from '@gatehouse/http/client-ip';
import { streamedRequest, type Claim } from '@gatehouse/http/idempotency-key';
import { sendJson, type Reply } from '@gatehouse/http/reply';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { sendPieces } from '@gatehouse/http/streamed-reply';
import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { Logger } from '@gatehouse/kit/log';
import { RecentMap } from '@gatehouse/kit/recent-map';
import type { UserIdLookup } from '@gatehouse/shell/user-id-lookup';
import type { Splitter } from '../documents/splitter.ts';
import type { ImportSweep } from '../moving/import-sweep.ts';
import { linesOf, type Line } from '@gatehouse/kit/json-lines';
import type { NumberedRecord } from '../moving/record-batches.ts';
import { runImport, type StagedImport } from '../moving/run-import.ts';
import type { MemoryAgents } from '../clients/agents.ts';
import type { MemoryLimitsClient } from '../clients/memory-limits.ts';
import { agentScope, readableUsers, type MemoryKey } from '../shared/memory-key.ts';
import type { ExportStore, StoredText } from '../store/documents/export-store.ts';
import { maxImportMinutes, type ImportKey } from '../store/imports/import-row-store.ts';
import type { Imported, ImportStore } from '../store/imports/import-store.ts';
import type { ImportState } from '../store/imports/purge-store.ts';
import type { RequestJob } from '../store/scopes/job-request.ts';
import type { MemoryLimits } from '../store/scopes/scope-store.ts';
import { ImportBody } from './import-body.ts';
import { readRecord } from './imported-lines.ts';
import { memoryOf, type MemoryCall } from './memory-call.ts';
import { sharedChange } from './shared-change.ts';

export interface MovingDependencies {
  agents: MemoryAgents;
  userIds: UserIdLookup;
  exports: ExportStore;
  imports: ImportStore;
  sweep: ImportSweep<ImportState>;
  splitter: Splitter;
  changes: Changes;
  limits: MemoryLimitsClient;
  requestEmbeddings: RequestJob;
  log: Logger;
}

/** An import uses a database connection and a process of the sandbox most of the time; an export holds a page in memory. */
const importsInFlight = { perKey: 1, slots: 4, maxWaiting: 0, tooMany: tooMany('imports') };
const exportsInFlight = { perKey: 2, slots: 8, maxWaiting: 0, tooMany: tooMany('exports') };

/** A document of a mebibyte of control characters, each escaped by six, with the largest metadata. */
const maxLineBytes = 8 * 1024 * 1024;
/** How long an import waits for another one into the same agent. */
const turnMs = 30_000;
const turnPauseMs = 250;
/** Between two signs of life. */
const beatMs = 15_000;

/** How often a page of an export is read while the database is unavailable, and after what time again. */
const pageAttempts = 10;
const pageAgainMs = 1_000;

/** `GET /v1/agents/{agentID}/memory/export` and `POST /v1/agents/{agentID}/memory/import`. */
export function movingHandlers(dependencies: MovingDependencies): Record<string, RawHandler> {
  const exports = new FairQueue(exportsInFlight);
  const imports = new FairQueue(importsInFlight);
  return {
    'memory.export': async (request, response, call) => {
      const { key, principal } = await memoryOf(call, dependencies.agents);
      const users = principal.userId === null ? 'all' : readableUsers(principal);
      await exports.run(key.tenantId, () =>
        sendLines(request, response, call, (after) => dependencies.exports.documents(key, users, after)),
      );
    },

    'memory.import': async (request, response, call) => {
      checkBodyHeaders(request, call.route);
      const { tenantId } = tenantOf(call);
      const reply = await imports.run(tenantId, () => answerImport(dependencies, request, call));
      const headers = { ...reply.headers, [requestIdHeader]: call.requestId };
      sendJson(response, reply.status ?? call.route.response.status, reply.body, headers);
    },
  };
}

/** Sends the documents of an export, as fast as the client reads them. */
async function sendLines(
  request: IncomingMessage,
  response: ServerResponse,
  { requestId }: RawCall,
  readPage: (after: StoredText | null) => Promise<StoredText[]>,
): Promise<void> {
  // Before the head, so an outage has a status.
  const first = await readPage(null);
  async function* lines(): AsyncGenerator<string, void> {
    for (let page = first; page.length > 0; page = await patiently(() => readPage(page.at(-1) ?? null)))
      for (const document of page) yield `${JSON.stringify(exportedRecord(document))}\n`;
  }
  const headers = { 'content-type': jsonLines, [requestIdHeader]: requestId };
  await sendPieces(request, response, { headers, pieces: lines() });
}

/** Reads again while the database is away for a moment: a client can't continue an interrupted export. */
async function patiently<Result>(read: () => Promise<Result>): Promise<Result> {
  for (let left = pageAttempts; ; left -= 1) {
    try {
      return await read();
    } catch (error) {
      if (left <= 1 || !isOutage(error)) throw error;
      await sleep(pageAgainMs);
    }
  }
}

function exportedRecord({ userId, createdAt, updatedAt, ...document }: StoredText): ExportedRecord {
  return {
    kind: 'document',
    ...document,
    scope: userId === agentScope ? 'agent' : 'user',
    user_id: userId === agentScope ? null : userId,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}

async function answerImport(
  dependencies: MovingDependencies,
  request: IncomingMessage,
  call: RawCall,
): Promise<Reply> {
  const principal = tenantOf(call);
  const { idempotency } = dependencies.changes;
  const limit = call.route.bodyLimit;
  const body = new ImportBody(request, { principal, limit, maxMinutes: maxImportMinutes });
  const keyed = streamedRequest(request, call, body);
  const memory = await memoryOf(call, dependencies.agents);
  const work = (claim: Claim | null): Promise<Reply> =>
    importBody(dependencies, body, { call: { ...call, clientIp: clientIpOf(request), claim }, memory });
  return keyed === null
    ? work(null)
    : idempotency.once(keyed, (claim) => idempotency.during(claim, () => work(claim)));
}

interface ImportCall {
  call: RawCall & { clientIp: string | null; claim: Claim | null };
  memory: MemoryCall;
}

async function importBody(
  dependencies: MovingDependencies,
  body: ImportBody,
  { call, memory }: ImportCall,
): Promise<Reply> {
  const { imports, userIds, splitter, changes, limits, requestEmbeddings } = dependencies;
  const { key, principal } = memory;
  const commit = async (
    store: (db: Parameters<Parameters<Changes['change']>[1]>[0], held: MemoryLimits) => Promise<Imported>,
  ): Promise<Reply> => {
    const held = await limits.limitsOf(key.tenantId, call);
    return changes.change(call, async (db) => {
      const imported = await store(db, held);
      await requestEmbeddings(db, key);
      return importedOutcome(memory, imported);
    });
  };
  const lines = linesOf(body.chunks(), maxLineBytes);
  const splitAll = (texts: readonly string[]) => splitter.splitAll(texts, key.tenantId);
  const records = recordsOf(lines, principal, (name) => userIds.find(call, name));
  return runImport<Reply>(records, splitAll, {
    put: (documents) => commit((db, held) => imports.put(db, key, documents, held)),
    begin: async () => {
      const begun = await beginInTurn(imports, key);
      return stagedImport(dependencies, begun, () => commit((db, held) => imports.publish(db, begun, held)));
    },
  });
}

function importedOutcome(memory: MemoryCall, imported: Imported): ChangeOutcome {
  const counts: MemoryCounts = { ...imported, entities: 0, relations: 0 };
  return {
    body: counts,
    changes: sharedChange('memory.imported', memory, { after: counts }),
  };
}

async function* recordsOf(
  lines: AsyncIterable<Line>,
  principal: ReturnType<typeof tenantOf>,
  findUserId: (name: string) => Promise<string>,
): AsyncGenerator<NumberedRecord, void> {
  const users = new RecentMap<{ id: string }>(1_000);
  const userIdOf = async (name: string): Promise<string> => {
    const user = users.get(name) ?? { id: await findUserId(name) };
    users.set(name, user);
    return user.id;
  };
  for await (const line of lines) yield await readRecord(line, principal, userIdOf);
}

/** Begins an import into an agent after the current one. Throws 429 after too long a wait. */
async function beginInTurn(imports: ImportStore, key: MemoryKey): Promise<ImportKey> {
  const until = monotonicMs() + turnMs;
  for (;;) {
    const begun = await imports.begin(key);
    if (begun !== null) return begun;
    if (monotonicMs() > until)
      throw refusal('rate_limit_exceeded', 'Another import into this agent is under way.');
    await sleep(turnPauseMs);
  }
}

function stagedImport(
  { imports, sweep, log }: MovingDependencies,
  key: ImportKey,
  publish: () => Promise<Reply>,
): StagedImport<Reply> {
  const beat = beating(() => imports.keepAlive(key), log);
  const end = (): void => {
    beat.stop();
    // Removes what was stored or, if it was published, what it has replaced.
    sweep.end(key);
  };
  return {
    stage: (documents) => imports.stage(key, documents),
    publish: async () => {
      const reply = await publish();
      end();
      return reply;
    },
    discard: async () => {
      end();
    },
  };
}

/** Repeats a sign of life until it is stopped. Failures are logged: the work itself notices them. */
function beating(beat: () => Promise<void>, log: Logger): { stop: () => void } {
  const timer = setInterval(() => {
    beat().catch((error: unknown) => log.warn({ err: error }, 'failed to prolong an import'));
  }, beatMs);
  return { stop: () => clearInterval(timer) };
}

/** Long requests are refused beyond their limit instead of waiting. */
function tooMany(requests: string): (isTenants: boolean) => AppError {
  return (isTenants) =>
    isTenants
      ? refusal('rate_limit_exceeded', `Too many ${requests} of this tenant are under way.`)
      : refusal('service_unavailable', `Too many ${requests} are under way.`);
}

function refusal(code: 'rate_limit_exceeded' | 'service_unavailable', message: string): AppError {
  return new AppError(code, `${message} Try again in 5 s.`, { retryAfterMs: 5_000 });
}
