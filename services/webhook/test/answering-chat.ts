import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import {
  ChatServiceService,
  type CompleteRequest,
  type CompleteResponse,
} from '@gatehouse/proto/chat/v1/chat';
import type { Delegation } from '@gatehouse/identity/principal';
import type { TestIdentity } from '@gatehouse/test/identity';
import { StandIn } from '@gatehouse/test/stand-in';

/**
 * The end of a run: a failure, or a provider's answer as JSON. With a promise, the replica is gone: its claim of the call
 * ends at once, and the call has no answer until the promise resolves.
 */
type Outcome = AppError | string | Promise<unknown>;

/** Stands in for chat: answers each call id once, as chat does, with an echo of the prompt. */
export class AnsweringChat {
  /** Every run that was begun. */
  readonly runs: { request: CompleteRequest; delegation: Delegation | null }[] = [];
  /** Runs wait for it. */
  gate: Promise<unknown> = Promise.resolve();
  readonly #answers = new Map<string, CompleteResponse | null>();
  /** Keyed by the text that is asked, so that no run of another call takes one. */
  readonly #outcomes = new Map<string, Outcome[]>();
  #server: StandIn | undefined;

  static async start(identity: TestIdentity): Promise<AnsweringChat> {
    const chat = new AnsweringChat();
    const complete = {
      callers: ['webhook'],
      acceptsDelegation: true as const,
      handle: (request: CompleteRequest, { delegation }: { delegation: Delegation | null }) =>
        chat.#complete(request, delegation),
    };
    chat.#server = await StandIn.start('chat', identity, {
      definition: ChatServiceService,
      rpcs: { complete },
    });
    return chat;
  }

  get server(): StandIn {
    if (this.#server === undefined) throw new Error('chat was not started');
    return this.#server;
  }

  /** The runs that were asked this. */
  runsOf(text: string): { request: CompleteRequest; delegation: Delegation | null }[] {
    return this.runs.filter(({ request }) => request.requestJson.includes(JSON.stringify(text)));
  }

  /** Prepares the outcomes of the next runs that are asked this. */
  prepare(asked: string, ...outcomes: readonly Outcome[]): void {
    this.#outcomes.set(asked, [...outcomes]);
  }

  async #complete(request: CompleteRequest, delegation: Delegation | null): Promise<CompleteResponse> {
    const { callId } = request;
    const known = this.#answers.get(callId);
    if (known === null) throw new AppError('idempotency_in_progress', 'A call with this id is in progress.');
    if (known !== undefined) return known;
    this.#answers.set(callId, null);
    this.runs.push({ request, delegation });
    await this.gate;
    const { messages } = JSON.parse(request.requestJson) as { messages: { content: string }[] };
    const asked = messages.at(-1)?.content ?? '';
    const outcome = this.#outcomes.get(asked)?.shift();
    if (outcome instanceof AppError) {
      this.#answers.delete(callId);
      throw outcome;
    }
    if (outcome instanceof Promise) {
      this.#answers.delete(callId);
      await outcome;
      throw new AppError('internal', 'The replica is gone.');
    }
    const content = `echo: ${asked}`;
    const answer = {
      runId: newId(),
      traceId: newId().replaceAll('-', ''),
      completionJson:
        outcome ??
        JSON.stringify({
          choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
          usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
        }),
    };
    this.#answers.set(callId, answer);
    return answer;
  }
}
