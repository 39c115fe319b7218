import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DialectName } from '@gatehouse/contract/dialects';
import { RouteMatcher } from '@gatehouse/contract/match';
import { noRoute } from '@gatehouse/http/app';
import { BodyBudget } from '@gatehouse/kit/body-budget';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import { sendError } from '@gatehouse/http/reply';
import { requestContext } from '@gatehouse/http/request-context';
import { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { toAppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import type { Tool } from '@gatehouse/proto/agent/v1/agent';
import type { Passage, RecallResponse } from '@gatehouse/proto/memory/v1/memory';
import { makePrincipal } from '@gatehouse/test/identity';
import { Catalogue } from '../src/catalogue/catalogue.ts';
import { secretsOf } from '../src/catalogue/provider-schema.ts';
import { Pricing } from '../src/catalogue/pricing.ts';
import type { ResolvedAgent } from '../src/catalogue/target.ts';
import { completionHandlers, type CompletionDependencies } from '../src/completions/completion-handlers.ts';
import { CountedPrompts } from '../src/limits/counted-prompts.ts';
import { Limiter } from '../src/limits/limiter.ts';
import { RecallStep } from '../src/memory/recall.ts';
import { ProviderRegistry } from '../src/providers/registry.ts';
import type { EndRow } from '../src/recording/run-rows.ts';
import { RunTelemetry } from '../src/recording/run-telemetry.ts';
import { RunStops } from '../src/stops/run-stops.ts';
import { ToolSet } from '../src/tools/tool-set.ts';
import { turnStages, type StageDependencies } from '../src/turns/turn-stages.ts';

const budget = { perTenant: 2 ** 30, perProcess: 2 ** 30 };

/** The handlers of completions over a socket, without a database: runs end in memory, and no limit holds. */
export class CompletionServer {
  /** Agents by key. */
  readonly agents = new Map<string, ResolvedAgent>();
  tools: Tool[] = [];
  /** Passages of every agent's memory. */
  passages: Passage[] = [];
  readonly ended: EndRow['end'][] = [];
  readonly #server: Server;
  readonly #providers: ProviderRegistry;

  private constructor(server: Server, providers: ProviderRegistry) {
    this.#server = server;
    this.#providers = providers;
  }

  /** `dialect`: that of all clients. */
  static async start(catalogue: unknown, dialect: DialectName): Promise<CompletionServer> {
    const known = Catalogue.parse(catalogue);
    const registry = createRegistry('test');
    const secrets = Object.fromEntries(
      known.providers.flatMap(secretsOf).map((named) => [named, 'provider-key']),
    );
    const providers = new ProviderRegistry({
      ...{ catalogue: known, secrets, metrics: registry },
      keyRing: KeyRing.parse(newKeyRing('k')),
    });
    const server = createServer();
    const made = new CompletionServer(server, providers);
    const handlers = completionHandlers(await made.#dependencies(known, registry));
    const matcher = new RouteMatcher();
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const { method = '', url = '' } = request;
      const match = matcher.match(method, url.split('?', 1)[0] ?? '');
      if (match.kind !== 'route') throw noRoute(match, request);
      const { route, params } = match;
      const identity = { principal: makePrincipal(), assertion: '' };
      await handlers[route.id]?.(request, response, {
        ...requestContext(request),
        ...identity,
        dialect,
        route,
        params,
        query: {},
      });
    };
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      answer(request, response).catch((error: unknown) =>
        sendError(response, toAppError(error), requestContext(request).requestId, dialect),
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await this.#providers.close();
  }

  async #dependencies(
    catalogue: Catalogue,
    registry: ReturnType<typeof createRegistry>,
  ): Promise<CompletionDependencies> {
    const telemetry = new RunTelemetry(registry, undefined, undefined);
    const none = {
      limited: [],
      keyLimited: [],
      ownKeys: [],
      policies: null,
      guardrails: null,
      hasSessionBudgets: false,
    };
    const open = { allowedModels: null, previewChars: 100, ...none, hasUsers: false, actingUsers: 'any' };
    const dependencies = {
      catalogue,
      providers: this.#providers,
      pricing: await Pricing.create(catalogue),
      telemetry,
      log: createLogger('test', 'silent'),
      recorder: {
        startAttempt: () => Promise.resolve(),
        endRun: ({ end }: EndRow) => Promise.resolve(void this.ended.push(end)),
      },
      prompts: new CountedPrompts(),
      limiter: new Limiter({
        leases: { lease: () => Promise.resolve([]) },
        ...{
          holderId: () => 'here',
          changes: { stateOf: () => 'unknown' as const },
          onRefused: () => undefined,
          registry,
        },
      }),
      agents: { resolve: (_actor: unknown, key: string) => Promise.resolve(this.agents.get(key) ?? null) },
      settings: { getForKey: () => Promise.resolve(open), peekForKey: () => open },
      stages: this.#stages(telemetry),
      stops: new RunStops(),
      answers: new AnswerBudget(budget),
      bodyBudget: new BodyBudget(budget),
      silenceMs: 100,
      refusals: { note: () => undefined },
    };
    // The clients of other services are classes, of which handlers use these methods.
    return dependencies as unknown as CompletionDependencies;
  }

  #stages(telemetry: RunTelemetry): ReturnType<typeof turnStages> {
    const recall = (): Promise<RecallResponse> => Promise.resolve({ mode: 'words', passages: this.passages });
    const dependencies = {
      recall: new RecallStep({ memory: { recall, isUnreachable: () => false }, telemetry }),
      remember: { add: () => undefined },
      tools: {
        list: (_actor: unknown, _agent: unknown, format: Parameters<typeof ToolSet.forDialect>[1]) =>
          Promise.resolve(ToolSet.forDialect({ tools: this.tools, missing: [] }, format)),
        call: () => Promise.resolve({ content: 'It was called.', outcome: 'ok' }),
      },
      thoughts: {
        find: () => Promise.resolve({ thoughts: new Map(), bytes: 0 }),
        keep: () => Promise.resolve(),
      },
      // Without a database, no responses are stored.
      responses: { summaries: { seal: (summary: string) => summary } },
      ...{ providers: this.#providers, signatures: { of: () => null }, log: createLogger('test', 'silent') },
    };
    // Stand-ins for the only methods of clients and stores that stages call.
    return turnStages(dependencies as unknown as StageDependencies);
  }
}
