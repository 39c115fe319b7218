import type { Rpc } from '@gatehouse/grpc/rpc';
import {
  type DescribeRequest,
  type DescribeResponse,
  type Resource,
  type RunStepRequest,
} from '@gatehouse/proto/participant/v1/participant';

/** The services' answers about a transfer: a test decides them. */
export class TransferSides {
  readonly requests: DescribeRequest[] = [];
  /** By id. */
  readonly resources = new Map<string, Omit<Resource, 'ref'> & { type: string }>();
  dependencies: DescribeResponse['dependencies'] = [];
  conflicts: DescribeResponse['conflicts'] = [];
  problems: DescribeResponse['problems'] = [];

  /** The answer of a step. */
  runStep: (request: RunStepRequest) => Promise<{ completed: boolean }> = () =>
    Promise.resolve({ completed: true });

  /** One service that stands in for all of them; the others know nothing. */
  rpcs(isOne: boolean): {
    runStep: Rpc<RunStepRequest, { completed: boolean }>;
    describe: Rpc<DescribeRequest, DescribeResponse>;
  } {
    const nothing = { resources: [], counts: [], dependencies: [], conflicts: [], problems: [] };
    return {
      runStep: {
        callers: ['tenant'],
        handle: (request: RunStepRequest) => this.runStep(request),
      },
      describe: {
        callers: ['tenant'],
        handle: (request: DescribeRequest) => Promise.resolve(isOne ? this.#describe(request) : nothing),
      },
    };
  }

  add(
    id: string,
    resource: Partial<Omit<Resource, 'ref'>> & { type?: string } = {},
  ): { type: string; id: string } {
    const { type = 'agent', name = 'poet', revision = '1', hasSecrets = false, models = [] } = resource;
    this.resources.set(id, { type, name, revision, hasSecrets, models });
    return { type, id };
  }

  reset(): void {
    this.resources.clear();
    this.requests.length = 0;
    Object.assign(this, { dependencies: [], conflicts: [], problems: [] });
  }

  #describe(request: DescribeRequest): DescribeResponse {
    this.requests.push(request);
    const found = request.resources.flatMap((ref) => {
      const resource = this.resources.get(ref.id);
      return resource?.type === ref.type ? [{ ...resource, ref }] : [];
    });
    const isAsked = request.targetTenantId !== '';
    return {
      resources: found,
      counts: found.map(({ ref }) => ({ of: ref, counts: { documents: 3n } })),
      dependencies: this.dependencies,
      conflicts: isAsked ? this.conflicts : [],
      problems: isAsked ? this.problems : [],
    };
  }
}
