import type { AppError } from '@gatehouse/kit/errors';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { RequestHead, RequestSource } from '@gatehouse/dialects/dialect';
import type { ApiName } from '@gatehouse/dialects/dialects';
import type { ToolRewrite } from '@gatehouse/dialects/request-additions';
import type { KnownReasoning } from '@gatehouse/dialects/translation/signed-reasoning';
import type { FeeTool } from '@gatehouse/dialects/usage/fee-tools';
import type { Model } from '../catalogue/catalogue.ts';
import type { Target } from '../catalogue/target.ts';
import type { AnswerReceiver } from './answer-receiver.ts';
import type { AttemptRecord } from './open-call.ts';
import type { RefusalsOptions } from './refusals.ts';
import type { ProviderRegistry } from './registry.ts';
import type { SignatureOrigins } from './signature-origins.ts';

/** The parts of a request that its provider calls need. */
export interface ProviderChainOptions extends Pick<RefusalsOptions, 'forms'> {
  /** The API of the client. Calls of models with another are translated. */
  api: ApiName;
  request: RequestHead & Pick<AcceptedRequest, 'thinking'>;
  source: RequestSource;
  target: Target;
  /** Calls count for this tenant's circuits. */
  tenantId: string;
  providers: ProviderRegistry;
  record: AttemptRecord;
  receiver: AnswerReceiver;
  /** Whether the text of the answer is kept, for memory. */
  keepsText: boolean;
  /** The most tokens of an answer within a budget; null where the request's own limit counts. */
  maxTokens: number | null;
  /** The client's headers, as far as its API passes them on. */
  headers: Readonly<Record<string, string>>;
  /** Origins of the signatures the client has, or gets; null where there is one origin. */
  signatures: SignatureOrigins | null;
  /** Thoughts of earlier answers without a place in the client's API. */
  thoughts: KnownReasoning;
  /** The client's names of what the request's reader has left out. */
  leftOut: readonly string[];
  /** Additions of the gateway's own tools to the request. */
  tools?: ToolRewrite;
  /** Tools of the provider of each model to be left out, since they have no price. */
  unpricedTools: (model: Model) => readonly FeeTool[];
  /** Whether models write requested summaries themselves, and no provider compacts the conversation. */
  writesSummaries?: boolean | undefined;
  /** Admits a call of a model, or returns why it is passed over; absent where all are admitted. */
  admitModel?: ((model: Model) => Promise<AppError | { maxTokens: number | null }>) | null;
}
