import { workDeadlineMs } from '@gatehouse/kit/bounds';
import type { RpcClient } from '@gatehouse/grpc/client';
import { isUnreachable } from '@gatehouse/grpc/errors';
import type { RecallContext } from './recall.ts';
import type {
  MemoryServiceClient,
  RecallRequest,
  RecallResponse,
  RememberRequest,
} from '@gatehouse/proto/memory/v1/memory';

/** The memory of agents. */
export class MemoryClient {
  readonly #peer: RpcClient<MemoryServiceClient>;

  constructor(peer: RpcClient<MemoryServiceClient>) {
    this.#peer = peer;
  }

  /** The best-fitting passages for a text. Sees data of the agent and of the assertion's acting user. */
  recall(request: RecallRequest, context: RecallContext): Promise<RecallResponse> {
    return this.#peer.call('recall', { ...request, query: storable(request.query) }, context);
  }

  isUnreachable(error: unknown): boolean {
    return isUnreachable(error);
  }

  /** Stores a finished turn once. Returns false if it was stored before, or if the user's data were deleted after it. */
  async remember(turn: RememberRequest): Promise<boolean> {
    const { input, output } = turn;
    const stored = { ...turn, input: storable(input), output: storable(output) };
    return (await this.#peer.call('remember', stored, { deadlineMs: workDeadlineMs })).stored;
  }
}

/** A database can't hold NUL, and UTF-8 has no lone surrogates. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\u{fffd}');
}
